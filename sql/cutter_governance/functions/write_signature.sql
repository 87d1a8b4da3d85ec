-- promise: the attestation stands at the end of its signer's chain in its lane. Gives the new row's digest.
-- locks: the chain (its turn)
-- refuses with: RC009 the chain has a newer end, RC007 what was signed is not what would be stored
create or replace function cutter_governance.write_signature(p_signature cutter_governance.dot_pair_signature, p_attested jsonb) returns bytea
language plpgsql
as $$
declare
  v_prior bytea;
  v_payload text;
  v_digest bytea;
  v_lane_seq bigint;
begin
  v_lane_seq := cutter_governance.require_chain_end(p_signature.signer_dot_id, p_signature.signer_principal, p_signature.prior_signature_id);
  select s.signature into v_prior from cutter_governance.dot_pair_signature s where s.signature_id = p_signature.prior_signature_id;
  v_payload := cutter_governance.signature_payload(p_signature, p_attested, v_prior);
  if v_payload is distinct from p_signature.signature_payload then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_signature.signature_payload, 'stored', v_payload)));
  end if;
  insert into cutter_governance.dot_pair_signature (
    signature_id, signature_kind, signer_dot_id, signer_principal, signer_tool_revision, key_id, payload_envelope, signature_payload, payload_hash,
    signature, cross_reference_change_set_id, cross_reference_verify_result_id, prior_signature_id, lane_seq, signed_at, recorded_at)
  values (
    p_signature.signature_id, p_signature.signature_kind, p_signature.signer_dot_id, p_signature.signer_principal, p_signature.signer_tool_revision,
    p_signature.key_id, 'application/vnd.chancery.cutter.v1+json', p_signature.signature_payload, sha256(convert_to(p_signature.signature_payload, 'UTF8')),
    p_signature.signature, p_signature.cross_reference_change_set_id, p_signature.cross_reference_verify_result_id, p_signature.prior_signature_id,
    v_lane_seq + 1, p_signature.signed_at, internal.now())
  returning row_digest into v_digest;
  return v_digest;
end
$$;
