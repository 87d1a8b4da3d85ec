-- promise: work of an executor has a job in the queue that will take it up; work of people and of sub-workflows has none.
-- locks: the run of the workflow, held by the caller
create or replace function workflow.make_job(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
declare
  v_work workflow.work := workflow.take(p_run_kind, p_run_id);
  v_job queue.job_request;
begin
  if v_work.executor_class_ref in ('human', 'sub_workflow') then
    return;
  end if;
  if p_run_kind = 'step' then
    update workflow.step_run s set work_no = s.work_no + 1 where s.step_run_id = p_run_id returning work_no into v_work.work_no;
  else
    update workflow.task_run t set work_no = t.work_no + 1 where t.task_run_id = p_run_id returning work_no into v_work.work_no;
  end if;
  v_job.class := v_work.executor_class_ref;
  v_job.kind := 'workflow.' || p_run_kind;
  v_job.key := p_run_id || '/' || v_work.work_no;
  v_job.payload := jsonb_build_object('run_kind', p_run_kind, 'run_id', p_run_id, 'workflow_run_id', v_work.workflow_run_id, 'key', v_work.key);
  v_job.target_ref := p_run_kind || ':' || p_run_id;
  v_job.max_attempts := v_work.retry_limit;
  v_job.trace_id := v_work.trace_id;
  v_job.correlation_id := v_work.correlation_id;
  perform queue.enqueue(array[v_job], 'chancery');
end
$$;
