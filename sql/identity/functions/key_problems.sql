-- promise: what is wrong with the key a move comes with; an empty array when nothing is. A null p_signed is a preview.
create or replace function identity.key_problems(p_principal text, p_principal_kind text, p_key_id uuid, p_signed boolean) returns jsonb
language plpgsql stable
as $$
declare
  v_key record;
begin
  if p_key_id is null then
    if p_signed then
      return internal.problem('RI005', jsonb_build_object('key_id', null, 'principal', p_principal));
    end if;
    -- Services move runs under their login alone; for people and agents it is a setting.
    if p_signed is not null and (
         select c.value from config.dot_config c where c.key = 'identity.signature_required.' || p_principal_kind) = 'true' then
      return internal.problem('RI008', jsonb_build_object('principal', p_principal, 'kind', p_principal_kind));
    end if;
    return '[]';
  end if;
  select k.principal, k.revoked_at, k.revoke_reason into v_key from identity.signing_key k where k.key_id = p_key_id;
  if v_key.principal is distinct from p_principal then
    return internal.problem('RI005', jsonb_build_object('key_id', p_key_id, 'principal', p_principal));
  elsif v_key.revoked_at is not null then
    return internal.problem('RI006', jsonb_build_object(
      'key_id', p_key_id, 'principal', p_principal, 'revoked_at', v_key.revoked_at, 'reason', v_key.revoke_reason));
  elsif p_signed is false then
    return internal.problem('RI008', jsonb_build_object('principal', p_principal, 'kind', p_principal_kind));
  end if;
  return '[]';
end
$$;
