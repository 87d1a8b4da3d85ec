-- promise: the run that the step or task is of was not called off: then nothing of it moves any more.
-- callers: doors that took the work and do not go through workflow.call, which asks the same
-- refuses with: RW006
create or replace function workflow.require_live_run(p_work workflow.work) returns void
language plpgsql stable
as $$
begin
  if workflow.is_called_off(p_work) then
    perform internal.refuse(internal.problem('RW006', jsonb_build_object('workflow_run_id', p_work.workflow_run_id, 'state', 'cancelled')));
  end if;
end
$$;
