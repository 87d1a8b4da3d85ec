-- promise: a step whose last open task was just completed goes on: it waits for its tasks no longer, and a worker's step that nobody works on has
--          its next job. While a task is open nothing happens.
-- callers: workflow.act, with the run locked
create or replace function workflow.go_on_after_tasks(p_step_run_id uuid) returns void
language plpgsql
as $$
declare
  v_step workflow.work;
begin
  if not workflow.tasks_are_done(p_step_run_id) then
    return;
  end if;
  perform workflow.end_wait_for_tasks(p_step_run_id);
  if workflow.resume_if_resolved('step', p_step_run_id) then
    return;
  end if;
  v_step := workflow.peek('step', p_step_run_id);
  -- A job that is under way, or that waits for its next try, is enough.
  if v_step.state_code in ('in_progress', 'overdue')
     and not exists (select from queue.job_queue q where q.job_id = queue.job_id(v_step.executor_class_ref, v_step.run_id || '/' || v_step.work_no)) then
    perform workflow.make_job('step', p_step_run_id);
  end if;
end
$$;
