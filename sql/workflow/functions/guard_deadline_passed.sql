-- owner: chancery_guard
-- promise: true when the deadline has passed
create or replace function workflow.guard_deadline_passed(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return v_work.deadline <= internal.now();
end
$$;
