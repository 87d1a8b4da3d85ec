-- promise: nothing of the run that the step, task or run is of moves until the transaction ends: every move of a part takes this lock first.
-- locks: the run of the workflow
create or replace function workflow.lock_run(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
begin
  perform from workflow.workflow_run r
    where r.workflow_run_id = case p_run_kind
      when 'workflow_run' then p_run_id
      when 'step' then (select s.workflow_run_id from workflow.step_run s where s.step_run_id = p_run_id)
      when 'task' then (select t.workflow_run_id from workflow.task_run t where t.task_run_id = p_run_id) end
    for no key update;
end
$$;
