-- promise: the canonical text that a voter signs: how they vote on exactly this request.
create or replace function approval.vote_payload(
  p_vote_id uuid, p_approval_id uuid, p_request_digest bytea, p_decision text, p_rationale text, p_principal text, p_actor_class text,
  p_key_id uuid, p_signed_at bigint
) returns text
language sql immutable
as $$
  select internal.canonical_json(jsonb_build_object(
    'domain', 'chancery.approval.v1', 'meaning', 'vote: ' || p_decision, 'vote_id', p_vote_id, 'approval_id', p_approval_id,
    'request_digest', encode(p_request_digest, 'hex'), 'decision', p_decision, 'rationale', p_rationale, 'principal', p_principal,
    'actor_class', p_actor_class, 'key_id', p_key_id, 'signed_at', p_signed_at))
$$;
