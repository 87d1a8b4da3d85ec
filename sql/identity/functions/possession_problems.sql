-- promise: what is wrong with a public key that somebody brings as theirs, an empty array when nothing is: it is a key that somebody can have, and
--          signed that it is this principal's. Without that anybody could register a key whose private half they do not have, and dispute a signature.
-- callers: identity.fn_key_register, identity.fn_key_request
-- says: RI012 not 32 bytes, RI052 no usable key, RI053 not signed by it
create or replace function identity.possession_problems(p_principal text, p_public_key bytea, p_possession bytea) returns jsonb
language plpgsql stable
as $$
declare
  v_payload constant text := internal.canonical_json(jsonb_build_object(
    'domain', 'chancery.key.v1', 'meaning', 'this key is mine', 'principal', p_principal, 'public_key', encode(p_public_key, 'hex')));
begin
  if octet_length(p_public_key) is distinct from 32 then
    return internal.problem('RI012', jsonb_build_object('bytes', octet_length(p_public_key)));
  elsif identity.ed25519_point(p_public_key) is null then
    return internal.problem('RI052', jsonb_build_object('public_key', encode(p_public_key, 'hex')));
  elsif not identity.verify_ed25519(
          p_public_key, identity.pre_authentication_encoding('application/vnd.chancery.key.v1+json', v_payload), p_possession) then
    return internal.problem('RI053', jsonb_build_object('principal', p_principal, 'public_key', encode(p_public_key, 'hex'), 'statement', v_payload));
  end if;
  return '[]';
end
$$;
