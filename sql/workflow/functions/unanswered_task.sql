-- promise: the first task of a step whose condition cannot be answered yet, and the condition; null when all can be.
-- callers: workflow.consider: a task that is made is ready or skipped, so none is made before it is known which
create or replace function workflow.unanswered_task(p_workflow_run_id uuid, p_step_def_id uuid, out task_key text, out precondition jsonpath, out reads_outputs text[])
language sql stable
as $$
  select d.task_key, d.precondition, d.reads_outputs from workflow.workflow_task_def d
   where d.step_def_id = p_step_def_id and workflow.holds(d.precondition, workflow.context(p_workflow_run_id, d.reads_outputs, null)) is null
   order by d.task_no limit 1
$$;
