-- owner: chancery_guard
-- promise: true when how late the work was is written down; a correction does not change what its first ending says
create or replace function workflow.guard_late_completion(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return v_work.overdue_first_at is not null
     and (v_work.cycle_no > 0 or (v_work.completed_after_deadline and v_work.sla_breach_duration is not null));
end
$$;
