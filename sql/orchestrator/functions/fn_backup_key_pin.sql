-- promise: backups are encrypted to this public key from now on. The key that holds already stays: nothing is written.
-- callers: chancery_migrator
-- locks: the keys (its turn)
-- refuses with: RO011 the fingerprint or the key
create or replace function orchestrator.fn_backup_key_pin(p_fingerprint text, p_public_key text, p_pinned_by text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_head orchestrator.backup_key;
begin
  if p_fingerprint is null or p_fingerprint !~ '^[0-9A-F]{40}$' or p_public_key is null or p_public_key not like '-----BEGIN PGP PUBLIC KEY BLOCK-----%'
     or internal.is_blank(p_pinned_by) then
    perform internal.refuse(internal.problem('RO011', jsonb_build_object('fingerprint', p_fingerprint)));
  end if;
  perform internal.take_turn('orchestrator.backup_key');
  select k.* into v_head from orchestrator.backup_key k order by k.pin_seq desc limit 1;
  if v_head.fingerprint = p_fingerprint and v_head.public_key = p_public_key then
    return jsonb_build_object('fingerprint', p_fingerprint, 'replayed', true);
  end if;
  insert into orchestrator.backup_key (pin_seq, fingerprint, public_key, pinned_by, pinned_at)
  values (coalesce(v_head.pin_seq, 0) + 1, p_fingerprint, p_public_key, p_pinned_by, internal.now());
  return jsonb_build_object('fingerprint', p_fingerprint, 'replayed', false);
end
$$;
