-- promise: one difference between this database and its release is on record as known, by whom and why, until a time that the settings
--          bound; while it holds, chancery serve decides in spite of it. It covers what was found and nothing else: if the object
--          changes again, the acknowledgement is of something else.
-- callers: chancery_migrator (the operator)
-- refuses with: RI001–RI003, RI057 no reason, no object, or longer than may be
create or replace function audit.fn_drift_acknowledge(p_object text, p_found text, p_hours integer, p_reason text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'drift.acknowledge.max_hours');
  v_why text := case when internal.is_blank(p_object) or internal.is_blank(p_found) then 'no_object'
                     when internal.is_blank(p_reason) then 'no_reason'
                     when p_hours is null or p_hours < 1 or v_most is null or p_hours > v_most then 'hours' end;
  v_row audit.drift_acknowledgement;
begin
  perform birth.require_operator(p_principal);
  if v_why is not null then
    perform internal.refuse(internal.problem('RI057', jsonb_build_object('why', v_why, 'object', p_object, 'hours', p_hours, 'max_hours', v_most)));
  end if;
  insert into audit.drift_acknowledgement (
    acknowledgement_id, object, found, reason, acknowledged_by, login_role, acknowledged_at, expires_at)
  values (internal.uuid_v7(), p_object, p_found, p_reason, p_principal, session_user, internal.now(), internal.now() + p_hours * interval '1 hour')
  returning * into v_row;
  return to_jsonb(v_row);
end
$$;
