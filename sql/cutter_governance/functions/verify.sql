-- promise: see fn_verify.
-- callers: cutter_governance.fn_verify, orchestrator.fn_write_verify
create or replace function cutter_governance.verify(
  p_entry_id uuid, p_verify_result_id uuid, p_change_set_id uuid, p_verdict text, p_findings jsonb, p_prior_verify_result_id uuid,
  p_tool_revision text, p_principal text, p_signature_id uuid, p_prior_signature_id uuid, p_key_id uuid, p_signed_at bigint,
  p_signature_payload text, p_signature bytea
) returns jsonb
language plpgsql
as $$
declare
  v_entry cutter_governance.decision_backlog_entry;
  v_set cutter_governance.cut_change_set;
  v_head record;
  v_moves boolean;
  v_rollback_id uuid;
  v_escalation_id uuid;
  v_standing_id uuid;
  v_verify_digest bytea;
  v_digests bytea[] := '{}';
  v_signature cutter_governance.dot_pair_signature;
  v_contradiction jsonb;
  v_report jsonb := '{}';
  v_made jsonb;
begin
  if p_verdict is null or p_verdict not in ('pass', 'fail') or jsonb_typeof(p_findings -> 'findings') is distinct from 'array'
     or (p_verdict = 'fail') <> (jsonb_array_length(p_findings -> 'findings') > 0) then
    perform internal.refuse(internal.problem('RC014', jsonb_build_object('verdict', p_verdict, 'findings', p_findings -> 'findings')));
  end if;
  v_entry := cutter_governance.require_entry(p_entry_id);
  select r.verify_result_id, r.verdict, r.verify_digest, r.rollback_change_set_id_triggered, r.escalation_ref, r.verifier_signature_id into v_head
    from cutter_governance.verify_result r where r.verify_result_id = p_verify_result_id;
  if found then
    return cutter_governance.entry_report(p_entry_id, '{"replayed": true}', jsonb_build_object(
      'verify_result_id', v_head.verify_result_id, 'verdict', v_head.verdict, 'verifier_signature_id', v_head.verifier_signature_id,
      'rollback_change_set_id', v_head.rollback_change_set_id_triggered, 'escalation_ref', v_head.escalation_ref));
  end if;
  if p_verify_result_id is null or p_signature_id is null or p_tool_revision is null then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_signature_payload, 'stored', null)));
  end if;
  perform identity.require_signer(p_principal, 'verifier_dot992', p_key_id, p_signed_at, p_signature);
  perform cutter_governance.lock_change_set('cut_request', p_entry_id);
  select c.* into v_set from cutter_governance.cut_change_set c
   where c.decision_backlog_entry_id = p_entry_id and c.change_kind = 'apply' and c.change_set_id = p_change_set_id;
  select r.verify_result_id into v_head from cutter_governance.verify_result r
   where r.change_set_id = p_change_set_id and not exists (select from cutter_governance.verify_result n where n.prior_verify_result_id = r.verify_result_id);
  v_moves := v_entry.status = 'cut_applied';
  if v_set.change_set_id is null or v_head.verify_result_id is distinct from p_prior_verify_result_id
     or v_entry.status not in ('cut_applied', 'verified_complete', 'verify_failed_escalated') then
    perform internal.refuse(internal.problem('RC019', jsonb_build_object(
      'entry_id', p_entry_id, 'status', v_entry.status, 'change_set_id', p_change_set_id, 'prior', p_prior_verify_result_id,
      'newest', v_head.verify_result_id)));
  end if;
  perform cutter_governance.require_independent(v_set, p_principal, p_key_id);
  if p_verdict = 'pass' and v_entry.status <> 'verify_failed_escalated' then
    v_contradiction := cutter_governance.live_problems(p_change_set_id);
    if v_contradiction <> '[]' then
      perform internal.refuse(internal.problem('RC013', jsonb_build_object('change_set_id', p_change_set_id, 'differences', v_contradiction)));
    end if;
  end if;

  if p_verdict = 'fail' then
    v_escalation_id := internal.derived_uuid(p_verify_result_id, 'escalation');
    if v_moves then
      v_rollback_id := internal.derived_uuid(p_verify_result_id, 'rollback');
      v_digests := cutter_governance.compensate(v_set, v_rollback_id, p_principal, 'verification failed', p_tool_revision);
    end if;
    -- One thing that is wrong asks for somebody once, however often it is looked at.
    v_standing_id := case when not v_moves then cutter_governance.fn_standing_escalation(p_entry_id) end;
  end if;
  if v_standing_id is not null then
    v_escalation_id := v_standing_id;
  elsif p_verdict = 'fail' then
    perform cutter_governance.mark_entry(
      v_escalation_id, 'escalation',
      jsonb_build_object(
        'idempotency_key', 'escalation:' || p_verify_result_id, 'signal_source', 'verify', 'iu_ref', v_entry.payload::jsonb ->> 'iu_ref',
        'escalation_of', p_entry_id, 'verify_result_id', p_verify_result_id, 'proposed_cut_spec', v_entry.payload::jsonb -> 'proposed_cut_spec'),
      null, v_entry.scenario_ref, 'verifier_dot992', 'escalate', p_principal, 'verification failed', v_entry.trace_id, null, null);
  end if;
  v_verify_digest := cutter_governance.verify_digest(
    p_verify_result_id, p_change_set_id, v_set.change_set_digest, v_set.executor_signature_id, p_verdict, p_findings, p_prior_verify_result_id,
    v_rollback_id, v_escalation_id);
  insert into cutter_governance.verify_result (
    verify_result_id, change_set_id, manifest_id, manifest_version, review_decision_id, executor_signature_id, verifier_signature_id,
    executor_tool_revision, verifier_tool_revision, tool_revision_match, verify_kind, axis_1_status, axis_2_status, verdict, state,
    canonicalization_rule_used, findings, rollback_change_set_id_triggered, escalation_ref, prior_verify_result_id, verify_digest, verified_by, verified_at)
  values (
    p_verify_result_id, p_change_set_id, v_set.manifest_id, v_set.manifest_version, v_set.review_decision_id, v_set.executor_signature_id, p_signature_id,
    v_set.executor_tool_revision, p_tool_revision, v_set.executor_tool_revision = p_tool_revision, 'axis_1_round_trip', p_verdict, 'not_assessed', p_verdict,
    'complete', 'rfc8785', internal.canonical_json(p_findings), v_rollback_id, v_escalation_id, p_prior_verify_result_id, v_verify_digest, p_principal,
    internal.now())
  returning v_digests || row_digest into v_digests;

  v_signature.signature_id := p_signature_id;
  v_signature.signature_kind := 'verifier';
  v_signature.signer_dot_id := 'DOT-992';
  v_signature.signer_principal := p_principal;
  v_signature.signer_tool_revision := p_tool_revision;
  v_signature.key_id := p_key_id;
  v_signature.signature_payload := p_signature_payload;
  v_signature.signature := p_signature;
  v_signature.cross_reference_verify_result_id := p_verify_result_id;
  v_signature.prior_signature_id := p_prior_signature_id;
  v_signature.signed_at := internal.from_micros(p_signed_at);
  v_digests := v_digests || cutter_governance.write_signature(v_signature, jsonb_build_object(
    'meaning', 'cut verified: ' || p_verdict, 'entry_id', p_entry_id, 'change_set_id', p_change_set_id,
    'change_set_digest', encode(v_set.change_set_digest, 'hex'), 'manifest_digest', v_set.manifest_version, 'verify_result_id', p_verify_result_id,
    'verify_digest', encode(v_verify_digest, 'hex'), 'verdict', p_verdict));

  v_made := jsonb_strip_nulls(jsonb_build_object(
    'verify_result_id', p_verify_result_id, 'verifier_signature_id', p_signature_id, 'rollback_change_set_id_triggered', v_rollback_id,
    'escalation_ref', v_escalation_id));
  if v_moves then
    v_report := fsm.move(
      p_entry_id, 'cut_request', null, case p_verdict when 'pass' then 'verified_complete' else 'verify_failed_escalated' end, 'verifier_dot992', 'rpc', 'verify',
      jsonb_build_object('change_set_id', p_change_set_id, 'verdict', p_verdict, 'verify_digest', encode(v_verify_digest, 'hex'), 'key_id', p_key_id,
                         'event', v_made) || v_made,
      p_principal, 'verify:' || p_verify_result_id, null, internal.artefact_digest(v_digests), null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end if;
  return cutter_governance.entry_report(p_entry_id, v_report, jsonb_build_object(
    'verify_result_id', p_verify_result_id, 'verdict', p_verdict, 'verifier_signature_id', p_signature_id,
    'rollback_change_set_id', v_rollback_id, 'escalation_ref', v_escalation_id));
end
$$;
