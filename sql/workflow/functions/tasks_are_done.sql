-- promise: whether every task of a step is completed or was skipped.
create or replace function workflow.tasks_are_done(p_step_run_id uuid) returns boolean
language sql stable
as $$ select not exists (select from workflow.task_run t where t.step_run_id = p_step_run_id and not t.skipped and t.state_code <> 'completed') $$;
