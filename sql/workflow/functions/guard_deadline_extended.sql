-- owner: chancery_guard
-- promise: true when the deadline lies in the future again, by a decision on record
create or replace function workflow.guard_deadline_extended(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return v_work.deadline > internal.now()
     and exists (select from workflow.step_decision d where d.run_id = v_work.run_id and d.decision_kind = 'deadline_extended'
                    and d.decision_id = internal.uuid_or_null(p_context #>> '{evidence,decision_id}'));
end
$$;
