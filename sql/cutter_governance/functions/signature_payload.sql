-- promise: the canonical text that a lane signs. It binds everything that the signature's row says and what it attests.
create or replace function cutter_governance.signature_payload(p_signature cutter_governance.dot_pair_signature, p_attested jsonb, p_prior_signature bytea) returns text
language sql immutable
as $$
  select internal.canonical_json(p_attested || jsonb_build_object(
    'domain', 'chancery.cutter.v1', 'lane', p_signature.signer_dot_id, 'signature_id', p_signature.signature_id,
    'principal', p_signature.signer_principal, 'key_id', p_signature.key_id, 'tool_revision', p_signature.signer_tool_revision,
    'prior_signature_id', p_signature.prior_signature_id, 'prior_signature', encode(p_prior_signature, 'hex'),
    'signed_at', internal.micros(p_signature.signed_at)))
$$;
