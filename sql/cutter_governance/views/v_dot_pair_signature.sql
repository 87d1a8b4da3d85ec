create or replace view cutter_governance.v_dot_pair_signature with (security_barrier) as
select t.signature_id, t.signature_kind, t.signer_dot_id, t.signer_principal, t.signer_tool_revision, t.key_id,
       t.payload_envelope, t.signature_payload, t.payload_hash, t.signature, t.cross_reference_change_set_id,
       t.cross_reference_verify_result_id, t.prior_signature_id, t.lane_seq, t.signed_at, t.recorded_at, t.row_digest, t.digest_version
  from cutter_governance.dot_pair_signature t;
comment on view cutter_governance.v_dot_pair_signature is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
