-- owner: chancery_guard
-- promise: true when a step is marked as skipped because no way leads to it, or a task because its condition does not hold
create or replace function workflow.guard_not_taken(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
  v_step workflow.step_run;
  v_def workflow.workflow_step_def;
begin
  if v_work.run_kind = 'task' then
    return v_work.skipped and workflow.precondition_holds(v_work) is false;
  end if;
  select s.* into v_step from workflow.step_run s where s.step_run_id = v_work.run_id;
  select d.* into v_def from workflow.workflow_step_def d where d.step_def_id = v_work.def_id;
  return v_work.skipped and workflow.way_here(v_step, v_def.joins_and, v_def.joins_or, v_def.joins_plain) = 'skip';
end
$$;
