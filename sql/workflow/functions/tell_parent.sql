-- promise: the loop will look at the step that stands for this sub-workflow.
create or replace function workflow.tell_parent(p_parent_step_run_id uuid) returns void
language sql
as $$
  insert into workflow.agenda (workflow_run_id, cause, run_id)
  select s.workflow_run_id, 'bridge', s.step_run_id from workflow.step_run s where s.step_run_id = p_parent_step_run_id
$$;
