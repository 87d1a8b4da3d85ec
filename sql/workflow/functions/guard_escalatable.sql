-- owner: chancery_guard
-- promise: true when no retry will mend the failure: it is permanent, the budget is used up, or its job is dead
create or replace function workflow.guard_escalatable(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return v_work.failure_classification = 'permanent' or v_work.retry_count >= v_work.retry_limit - 1
     or exists (select from queue.job_dead_letter d where d.job_id = queue.job_id(v_work.executor_class_ref, v_work.run_id || '/' || v_work.work_no));
end
$$;
