-- promise: work whose job is dead, with every try used, has failed and can be escalated; a replay of the dead letter takes it up again.
create or replace function workflow.fail_dead(p_run_id uuid) returns integer
language plpgsql
as $$
declare
  v_kind constant text := case when exists (select from workflow.step_run s where s.step_run_id = p_run_id) then 'step' else 'task' end;
  v_work workflow.work := workflow.take(v_kind, p_run_id);
begin
  if v_work.state_code in ('in_progress', 'overdue') then
    perform workflow.call(v_work, 'executor_failure', jsonb_build_object(
      'classification', 'transient', 'failure_class', 'lease_lost', 'audit_ref', 'dead_letter:' || v_work.run_id || '/' || v_work.work_no),
      null, 'chancery', 'executor_worker', 'dead/' || internal.uuid_v7());
  end if;
  return 1;
end
$$;
