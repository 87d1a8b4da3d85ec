-- owner: chancery_guard
-- promise: true when the run of the sub-workflow asks for the move that the evidence names
create or replace function workflow.guard_bridge(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
  v_target text := workflow.bridge_target(v_work.run_id);
begin
  return v_target is not null
     and p_context #>> '{evidence,to}' = case when v_work.state_code in ('ready', 'failed') then 'in_progress' else v_target end
     and (v_target <> 'completed' or v_work.state_code in ('ready', 'failed') or workflow.tasks_are_done(v_work.run_id));
end
$$;
