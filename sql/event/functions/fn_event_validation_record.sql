-- promise: a refused event, or a refused summary of events, is on record. Called by the refused caller after its transaction rolled back: a raise takes
--          everything written beside it along, so the refusal itself cannot write this row.
-- callers: every login that may move runs
-- refuses with: RE004 the code is not an event refusal
create or replace function event.fn_event_validation_record(p_event_type text, p_code text, p_facts jsonb) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_id bigint;
begin
  if p_code is null or p_code not in ('RE001', 'RE002', 'RE044', 'RE045', 'RE046', 'RE047', 'RE048') or p_event_type is null then
    perform internal.refuse(internal.problem('RE004', jsonb_build_object('given', p_code)));
  end if;
  insert into event.event_validation_audit (at, login_role, event_type, code, facts)
  values (internal.now(), session_user, p_event_type, p_code, coalesce(p_facts, '{}'))
  returning audit_id into v_id;
  return v_id;
end
$$;
