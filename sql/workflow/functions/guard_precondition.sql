-- owner: chancery_guard
-- promise: true when the ways that lead to a step let it come and its precondition holds; a task asks its precondition alone
create or replace function workflow.guard_precondition(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
  v_step workflow.step_run;
  v_def workflow.workflow_step_def;
begin
  if v_work.skipped then
    return false;
  end if;
  if v_work.run_kind = 'step' then
    select s.* into v_step from workflow.step_run s where s.step_run_id = v_work.run_id;
    select d.* into v_def from workflow.workflow_step_def d where d.step_def_id = v_work.def_id;
    if workflow.way_here(v_step, v_def.joins_and, v_def.joins_or, v_def.joins_plain) <> 'come' then
      return false;
    end if;
  end if;
  return workflow.precondition_holds(v_work);
end
$$;
