-- promise: the summary stands with its evidence and is the newest of its subject, or it is refused and nothing changed. With a key, what is
--          sent twice stands once. A refused one is put on record by its caller (event.fn_event_validation_record).
-- callers: chancery_app (system, executor_worker)
-- locks: the subject (its turn)
-- refuses with: RE044 malformed, RE045 without sources, RE046 sources outside of the window, RE047 green without an end of the problem,
--               RE048 an agent that does not say how sure it is, RS012, RS013, RI001–RI004, RI040
create or replace function governance.fn_summary_put(p_put jsonb, p_principal text, p_idempotency_key text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_report jsonb;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_permission(p_principal, 'summary.write');
  perform identity.require_actor(p_principal, governance.acting_class(p_principal, '{system,executor_worker}'));
  if internal.is_blank(p_idempotency_key) or octet_length(p_idempotency_key) > 200 then
    perform internal.refuse(internal.problem('RS013', jsonb_build_object('max_length', 200)));
  end if;
  v_report := governance.put_summary(p_put, p_principal, p_idempotency_key);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return v_report;
end
$$;
