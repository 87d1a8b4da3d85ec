-- promise: the problem is an open finding, new or counted once more. With a key, a report that is sent twice counts once.
-- callers: chancery_app, cutter_exec, cutter_verify, cutter_review (services; people acknowledge and resolve)
-- arrow: ∅ → open
-- locks: the key (its turn), then see governance.issue_open
-- refuses with: RE021 malformed, RS012 the key stands for another report, RS018 no machine, RI001–RI004
create or replace function governance.fn_log_issue(
  p_source text, p_severity text, p_title text, p_description text, p_entity_type text, p_entity_code text, p_issue_type text, p_evidence jsonb,
  p_principal text, p_issue_class text default 'operation', p_idempotency_key text default null, p_trace_id text default null,
  p_correlation_id text default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_digest bytea;
  v_known record;
  v_report jsonb;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, governance.acting_class(
    p_principal, '{system,mow_orchestrator,executor_worker,executor_dot991,verifier_dot992,review_authority}'));
  if p_idempotency_key is not null then
    if p_idempotency_key is not null and internal.is_blank(p_idempotency_key) or octet_length(p_idempotency_key) > 200 then
      perform internal.refuse(internal.problem('RS013', jsonb_build_object('max_length', 200)));
    end if;
    v_digest := sha256(convert_to(jsonb_build_array(
      p_source, p_severity, p_title, p_description, p_entity_type, p_entity_code, p_issue_type, p_evidence, p_principal, p_issue_class)::text, 'UTF8'));
    -- The same report twice at once: the second waits here and then sees the first.
    perform internal.take_turn('governance.issue_report:' || p_idempotency_key);
    select r.request_digest, r.issue_id into v_known from governance.issue_report r where r.idempotency_key = p_idempotency_key;
    if found and v_known.request_digest <> v_digest then
      perform internal.refuse(internal.problem('RS012', jsonb_build_object(
        'idempotency_key', p_idempotency_key, 'used_for_seq', 1, 'differs_in', '["evidence"]'::jsonb)));
    elsif found then
      return governance.report(v_known.issue_id) || '{"replayed": true}';
    end if;
  end if;
  v_report := governance.issue_open(
    p_source, p_severity, coalesce(p_issue_type, 'reported'), coalesce(p_issue_class, 'operation'), p_title, p_description, p_entity_type,
    p_entity_code, p_evidence, p_principal, p_trace_id, p_correlation_id);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  if p_idempotency_key is not null then
    insert into governance.issue_report (idempotency_key, issue_id, request_digest, reported_by, reported_at)
    values (p_idempotency_key, (v_report ->> 'issue_id')::uuid, v_digest, p_principal, internal.now());
  end if;
  return v_report;
end
$$;
