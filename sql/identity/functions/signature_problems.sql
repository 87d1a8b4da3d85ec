-- promise: what is wrong with a signature under a text by a key of this principal; an empty array when it verifies.
-- callers: identity.require_signature, fsm.move_signature_problems
create or replace function identity.signature_problems(
  p_principal text, p_key_id uuid, p_payload_type text, p_payload text, p_signature bytea
) returns jsonb
language plpgsql stable
as $$
declare
  v_public_key bytea;
begin
  select k.public_key into v_public_key from identity.signing_key k where k.key_id = p_key_id and k.principal = p_principal;
  if identity.verify_ed25519(v_public_key, identity.pre_authentication_encoding(p_payload_type, p_payload), p_signature) then
    return '[]';
  end if;
  return internal.problem('RI051', jsonb_build_object('principal', p_principal, 'key_id', p_key_id, 'payload_type', p_payload_type, 'statement', p_payload));
end
$$;
