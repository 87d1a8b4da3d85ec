-- promise: see identity.fn_key_register; that the key is the principal's was shown before.
-- callers: identity.fn_key_register, identity.fn_key_request_settle
-- locks: the principal (share)
-- refuses with: RI001, RI005, RI006, RI007
create or replace function identity.register_key(p_key_id uuid, p_principal text, p_public_key bytea, p_supersedes uuid, p_acted_by text) returns jsonb
language plpgsql
as $$
declare
  v_existing record;
begin
  perform from identity.principal p where p.name = p_principal for share;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  end if;
  if p_supersedes is not null and not exists (
       select from identity.signing_key k where k.key_id = p_supersedes and k.principal = p_principal) then
    perform internal.refuse(internal.problem('RI005', jsonb_build_object('key_id', p_supersedes, 'principal', p_principal)));
  end if;
  insert into identity.signing_key (key_id, principal, public_key, registered_at, supersedes)
  values (p_key_id, p_principal, p_public_key, internal.now(), p_supersedes)
  on conflict do nothing;
  if found then
    perform identity.record(p_acted_by, 'key_registered', p_principal, jsonb_build_object(
      'key_id', p_key_id, 'public_key', encode(p_public_key, 'hex'), 'supersedes', p_supersedes));
  else
    select k.key_id, k.principal, k.public_key, k.revoked_at into v_existing
      from identity.signing_key k where k.public_key = p_public_key or k.key_id = p_key_id
     order by (k.public_key = p_public_key) desc limit 1;
    if v_existing.principal <> p_principal or v_existing.key_id <> p_key_id or v_existing.public_key <> p_public_key then
      perform internal.refuse(internal.problem('RI007', jsonb_build_object('key_id', p_key_id, 'principal', p_principal)));
    elsif v_existing.revoked_at is not null then
      perform internal.refuse(internal.problem('RI006', jsonb_build_object('key_id', p_key_id, 'principal', p_principal, 'revoked_at', v_existing.revoked_at)));
    end if;
  end if;
  if p_supersedes is not null then
    perform identity.revoke_key(p_supersedes, 'superseded by ' || p_key_id, p_acted_by);
  end if;
  return (select to_jsonb(v) from identity.v_signing_key v where v.key_id = p_key_id);
end
$$;
