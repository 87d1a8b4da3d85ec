-- promise: whether the run of a step or task was called off: then nothing of it changes any more.
create or replace function workflow.is_called_off(p_work workflow.work) returns boolean
language sql stable
as $$ select exists (select from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id and r.state_code = 'cancelled') $$;
