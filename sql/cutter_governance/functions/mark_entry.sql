-- promise: see fn_mark; also the escalation that a failed verification opens in its own transaction (trigger escalate).
-- callers: cutter_governance.fn_mark, cutter_governance.fn_verify
create or replace function cutter_governance.mark_entry(
  p_entry_id uuid, p_kind text, p_payload jsonb, p_depends_on uuid[], p_scenario_ref text, p_actor_class text, p_trigger_ref text,
  p_principal text, p_reason text, p_trace_id text, p_key_id uuid, p_signature bytea
) returns jsonb
language plpgsql
as $$
declare
  v_spec jsonb := p_payload -> 'proposed_cut_spec';
  v_depends_on uuid[] := array(select distinct d from unnest(coalesce(p_depends_on, '{}')) d order by d);
  v_payload text;
  v_problem jsonb;
  v_digests bytea[];
  v_existing record;
  v_report jsonb;
  v_evidence jsonb;
  v_verified bytea;
begin
  v_problem := cutter_governance.mark_problem(p_entry_id, p_kind, p_payload);
  if v_problem is null and (p_trace_id !~ '^[0-9a-f]{32}$' or p_trace_id ~ '^0+$') then
    v_problem := '{"field": "trace_id"}';
  end if;
  if v_problem is not null then
    perform internal.refuse(internal.problem('RC002', v_problem));
  end if;
  v_payload := internal.canonical_json(p_payload);
  v_evidence := jsonb_build_object('depends_on', to_jsonb(v_depends_on), 'payload_sha256', encode(sha256(convert_to(v_payload, 'UTF8')), 'hex'));
  v_verified := (
    select fsm.require_move_signature('cut_request', p_entry_id, 'marked', p_actor_class, 'rpc', p_trigger_ref, v_evidence, p_principal,
                                      p_payload ->> 'idempotency_key', p_reason, p_key_id, p_signature, m.state_machine_id, p_payload)
      from fsm.state_machine_def m where m.scope = 'cut_request' and m.active);
  insert into cutter_governance.decision_backlog_entry (
    entry_id, kind, status, payload, emitted_at, scenario_ref, idempotency_key, document_id, source_version_id, escalation_of, state_machine_id,
    seq, started_by, trace_id, correlation_id, last_transition_at)
  select p_entry_id, p_kind, 'marked', v_payload, internal.now(), p_scenario_ref, p_payload ->> 'idempotency_key', v_spec ->> 'document_id',
         (v_spec ->> 'source_version_id')::uuid, (p_payload ->> 'escalation_of')::uuid, m.state_machine_id, 0, p_principal,
         coalesce(p_trace_id, replace(internal.uuid_v7()::text, '-', '')), p_entry_id::text, internal.now()
    from fsm.state_machine_def m
    join identity.principal p on p.name = p_principal
   where m.scope = 'cut_request' and m.active
  on conflict do nothing
  returning array[row_digest] into v_digests;
  if not found then
    return cutter_governance.marked_before(p_entry_id, v_payload, v_depends_on, p_principal);
  end if;

  v_problem := (select jsonb_agg(d) from unnest(v_depends_on) d
                 where not exists (select from cutter_governance.decision_backlog_entry e where e.entry_id = d));
  if v_problem is not null then
    perform internal.refuse(internal.problem('RC004', jsonb_build_object('entry_id', p_entry_id, 'unknown', v_problem)));
  end if;
  with edge as (
    insert into cutter_governance.decision_backlog_dependency (dependency_id, from_entry_id, to_entry_id, dependency_kind, created_by, created_at)
    select internal.uuid_v7(), p_entry_id, d, 'blocks', p_principal, internal.now() from unnest(v_depends_on) d
    returning row_digest)
  select v_digests || coalesce(array_agg(edge.row_digest), '{}') into v_digests from edge;

  v_report := fsm.move(
    p_entry_id, 'cut_request', null, 'marked', p_actor_class, 'rpc', p_trigger_ref,
    v_evidence, p_principal, p_payload ->> 'idempotency_key', p_reason, internal.artefact_digest(v_digests), p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return cutter_governance.entry_report(p_entry_id, v_report, '{}');
end
$$;
