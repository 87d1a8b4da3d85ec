-- promise: the canonical text that a proposer signs: what exactly is to be approved, under which risk, until when.
create or replace function approval.request_payload(p_request approval.approval_request) returns text
language sql stable
as $$
  select internal.canonical_json(jsonb_build_object(
    'domain', 'chancery.approval.v1', 'meaning', 'approval requested', 'approval_id', p_request.approval_id, 'kind', p_request.kind,
    'subject_kind', p_request.subject_kind, 'subject_ref', p_request.subject_ref, 'subject_digest', encode(p_request.subject_digest, 'hex'),
    'risk', p_request.risk, 'title', p_request.title, 'facts', p_request.facts::jsonb, 'expires_at', internal.micros(p_request.expires_at),
    'principal', p_request.proposer, 'key_id', p_request.key_id, 'signed_at', internal.micros(p_request.signed_at)))
$$;
