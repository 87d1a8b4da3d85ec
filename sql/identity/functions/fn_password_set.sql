-- promise: the person has this password, and every session that was open is over. The operator sets it, or the person, who shows the old one; wrong
--          old ones are counted, so they are answered and not raised.
-- callers: chancery_migrator (the operator); chancery_app with p_old_hash
-- locks: the principal (share), the count of wrong ones of this name (update), the credential (update), open sessions (update)
-- refuses with: RI001, RI047 not a person, or a hash that is not as it should be
-- says: RI044, RI045 as identity.password_problems
create or replace function identity.fn_password_set(
  p_principal text, p_salt bytea, p_hash bytea, p_memory_kib integer, p_passes integer, p_lanes integer, p_old_hash bytea, p_acted_by text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_principal record;
  v_problems jsonb := '[]';
begin
  select p.kind into v_principal from identity.principal p where p.name = p_principal for share;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif v_principal.kind <> 'human' or octet_length(p_salt) is distinct from 16 or octet_length(p_hash) is distinct from 32
        or not coalesce(p_memory_kib between 19456 and 1048576 and p_passes between 2 and 16 and p_lanes between 1 and 4, false) then
    perform internal.refuse(internal.problem('RI047', jsonb_build_object('principal', p_principal, 'kind', v_principal.kind)));
  end if;
  if session_user <> 'chancery_migrator' then
    v_problems := identity.password_problems(p_principal, p_old_hash);
  end if;
  if v_problems <> '[]' then
    return jsonb_build_object('ok', false, 'problems', v_problems);
  end if;
  insert into identity.credential (principal, salt, hash, memory_kib, passes, lanes, set_at, set_by)
  values (p_principal, p_salt, p_hash, p_memory_kib, p_passes, p_lanes, internal.now(), p_acted_by)
  on conflict (principal) do update set salt = excluded.salt, hash = excluded.hash, memory_kib = excluded.memory_kib, passes = excluded.passes,
    lanes = excluded.lanes, set_at = excluded.set_at, set_by = excluded.set_by;
  delete from identity.sign_in_attempt where name_sha256 = (select sha256(d.salt || convert_to(p_principal, 'UTF8')) from identity.decoy d);
  update identity.session set ended_at = internal.now() where principal = p_principal and ended_at is null;
  perform identity.record(p_acted_by, 'password_set', p_principal, '{}');
  return jsonb_build_object('ok', true);
end
$$;
