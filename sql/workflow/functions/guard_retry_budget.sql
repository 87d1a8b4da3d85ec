-- owner: chancery_guard
-- promise: true when the failure is transient and this try is within the budget
create or replace function workflow.guard_retry_budget(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return v_work.failure_classification = 'transient' and v_work.retry_count < v_work.retry_limit;
end
$$;
