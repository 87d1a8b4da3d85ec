-- owner: chancery_guard
-- promise: true when every task of the step is completed or was skipped
create or replace function workflow.guard_tasks_done(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return workflow.tasks_are_done(v_work.run_id);
end
$$;
