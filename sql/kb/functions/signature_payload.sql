-- promise: the canonical text that stands under a revision with somebody's signature.
create or replace function kb.signature_payload(
  p_signature_id uuid, p_path text, p_revision integer, p_sha256 bytea, p_meaning text, p_principal text, p_key_id uuid, p_signed_at bigint
) returns text
language sql immutable
as $$
  select internal.canonical_json(jsonb_build_object(
    'domain', 'chancery.kb.v1', 'signature_id', p_signature_id, 'path', p_path, 'revision', p_revision, 'sha256', encode(p_sha256, 'hex'),
    'meaning', p_meaning, 'principal', p_principal, 'key_id', p_key_id, 'signed_at', p_signed_at))
$$;
