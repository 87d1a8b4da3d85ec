-- promise: the public key belongs to this principal and to no other, ever, and its private half signed that it does. Repeating it changes nothing.
--          With p_supersedes the old key is revoked in the same transaction: that is a rotation.
-- callers: chancery_migrator (the operator)
-- locks: the principal (share)
-- refuses with: RI001, RI005 the superseded key is not this principal's, RI006 the key was revoked, RI007 another principal's, RI012 not 32 bytes,
--               RI052 no usable key, RI053 not signed by it
create or replace function identity.fn_key_register(
  p_key_id uuid, p_principal text, p_public_key bytea, p_possession bytea, p_supersedes uuid default null, p_acted_by text default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems jsonb := identity.possession_problems(p_principal, p_public_key, p_possession);
begin
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
  return identity.register_key(p_key_id, p_principal, p_public_key, p_supersedes, p_acted_by);
end
$$;
