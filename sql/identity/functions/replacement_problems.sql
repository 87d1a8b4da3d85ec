-- promise: what is wrong with an old key's word that a new key takes its place, an empty array when nothing is: it is this principal's, live, and signed
--          exactly this replacement.
-- callers: identity.fn_key_request
-- says: RI005 not a key of this principal, RI006 revoked, RI051 it did not sign this
create or replace function identity.replacement_problems(p_principal text, p_public_key bytea, p_old_key_id uuid, p_old_signature bytea) returns jsonb
language plpgsql stable
as $$
declare
  v_old record;
begin
  select k.revoked_at, k.revoke_reason into v_old from identity.signing_key k where k.key_id = p_old_key_id and k.principal = p_principal;
  if not found then
    return internal.problem('RI005', jsonb_build_object('key_id', p_old_key_id, 'principal', p_principal));
  elsif v_old.revoked_at is not null then
    return internal.problem('RI006', jsonb_build_object(
      'key_id', p_old_key_id, 'principal', p_principal, 'revoked_at', v_old.revoked_at, 'reason', v_old.revoke_reason));
  end if;
  return identity.signature_problems(p_principal, p_old_key_id, 'application/vnd.chancery.key.v1+json', internal.canonical_json(jsonb_build_object(
    'domain', 'chancery.key.v1', 'meaning', 'this key replaces mine', 'principal', p_principal, 'public_key', encode(p_public_key, 'hex'),
    'old_key_id', p_old_key_id)), p_old_signature);
end
$$;
