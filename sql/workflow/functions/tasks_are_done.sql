-- promise: whether every task of a step is completed or was skipped, and so is the run of the sub-workflow that it stands for: nobody
--          declares a sub-workflow done that is not.
create or replace function workflow.tasks_are_done(p_step_run_id uuid) returns boolean
language sql stable
as $$
  select not exists (select from workflow.task_run t where t.step_run_id = p_step_run_id and not t.skipped and t.state_code <> 'completed')
         and not exists (select from workflow.workflow_run r where r.parent_step_run_id = p_step_run_id and r.state_code <> 'completed')
$$;
