-- promise: the units of the decided manifest, which stand, are recorded: the ledger of what was touched, the executor's signature over
--          exactly that, and the entry's move.
-- callers: cutter_governance.fn_cut, orchestrator.fn_leg_b
-- refuses with: RC007, RC009, RC012 the effect is not what was signed, RS…
create or replace function cutter_governance.record_cut(
  p_entry cutter_governance.decision_backlog_entry, p_change_set_id uuid, p_review_decision_id uuid, p_change_set_digest bytea, p_tool_revision text,
  p_principal text, p_signature_id uuid, p_prior_signature_id uuid, p_key_id uuid, p_signed_at bigint, p_signature_payload text, p_signature bytea
) returns jsonb
language plpgsql
as $$
declare
  v_envelope cutter_governance.manifest_envelope;
  v_writer_digest bytea;
  v_effect_digest bytea;
  v_change_set_digest bytea;
  v_signature cutter_governance.dot_pair_signature;
  v_digests bytea[];
  v_report jsonb;
begin
  select m.* into strict v_envelope
    from cutter_governance.review_decision d join cutter_governance.manifest_envelope m on m.envelope_id = d.manifest_id
   where d.review_decision_id = p_review_decision_id;
  v_digests := cutter_governance.record_units(p_change_set_id, v_envelope, p_entry.started_by);
  v_writer_digest := cutter_governance.writer_digest(v_envelope.envelope_id, p_entry.started_by);
  v_effect_digest := cutter_governance.effect_digest(p_change_set_id);
  v_change_set_digest := cutter_governance.change_set_digest(
    p_change_set_id, p_entry.entry_id, p_review_decision_id, v_envelope.manifest_digest, v_writer_digest, v_effect_digest, v_envelope.unit_count);
  if v_change_set_digest is distinct from p_change_set_digest then
    perform internal.refuse(internal.problem('RC012', jsonb_build_object(
      'change_set_id', p_change_set_id, 'signed', encode(p_change_set_digest, 'hex'), 'written', encode(v_change_set_digest, 'hex'),
      'writer_digest', encode(v_writer_digest, 'hex'), 'effect_digest', encode(v_effect_digest, 'hex'))));
  end if;
  insert into cutter_governance.cut_change_set (
    change_set_id, change_kind, decision_backlog_entry_id, manifest_id, manifest_version, review_decision_id, executor_signature_id, rollback_key,
    state, affected_unit_count, writer_digest, effect_digest, change_set_digest, payload_summary, executor_tool_revision, verifier_tool_revision,
    emitted_by, emitted_at)
  values (
    p_change_set_id, 'apply', p_entry.entry_id, v_envelope.envelope_id, encode(v_envelope.manifest_digest, 'hex'), p_review_decision_id, p_signature_id,
    concat('rbk:', p_entry.document_id, ':', left(encode(v_writer_digest, 'hex'), 16), ':', p_change_set_id), 'committed', v_envelope.unit_count,
    v_writer_digest, v_effect_digest, v_change_set_digest,
    internal.canonical_json(jsonb_build_object('content_sha256', encode(v_envelope.region_sha, 'hex'), 'document_id', v_envelope.document_id,
                                               'source_version_id', v_envelope.source_version_id)),
    p_tool_revision, 'pending', p_principal, internal.now())
  returning v_digests || row_digest into v_digests;

  v_signature.signature_id := p_signature_id;
  v_signature.signature_kind := 'executor';
  v_signature.signer_dot_id := 'DOT-991';
  v_signature.signer_principal := p_principal;
  v_signature.signer_tool_revision := p_tool_revision;
  v_signature.key_id := p_key_id;
  v_signature.signature_payload := p_signature_payload;
  v_signature.signature := p_signature;
  v_signature.cross_reference_change_set_id := p_change_set_id;
  v_signature.prior_signature_id := p_prior_signature_id;
  v_signature.signed_at := internal.from_micros(p_signed_at);
  v_digests := v_digests || cutter_governance.write_signature(v_signature, jsonb_build_object(
    'meaning', 'cut applied', 'entry_id', p_entry.entry_id, 'change_set_id', p_change_set_id, 'change_set_digest', encode(v_change_set_digest, 'hex'),
    'manifest_digest', encode(v_envelope.manifest_digest, 'hex')));

  v_report := fsm.move(
    p_entry.entry_id, 'cut_request', null, 'cut_applied', 'executor_dot991', 'rpc', 'cut',
    jsonb_build_object(
      'review_decision_id', p_review_decision_id, 'change_set_id', p_change_set_id, 'change_set_digest', encode(v_change_set_digest, 'hex'),
      'executor_signature_id', p_signature_id,
      'event', jsonb_build_object('change_set_id', p_change_set_id, 'executor_signature_id', p_signature_id)),
    p_principal, 'cut:' || p_review_decision_id, null, internal.artefact_digest(v_digests), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return cutter_governance.entry_report(p_entry.entry_id, v_report, jsonb_build_object(
    'change_set_id', p_change_set_id, 'executor_signature_id', p_signature_id, 'units', v_envelope.unit_count));
end
$$;
