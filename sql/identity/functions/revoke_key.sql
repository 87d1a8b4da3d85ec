-- promise: the key signs nothing more; what it signed before stays good as of its time. Once revoked, for ever.
create or replace function identity.revoke_key(p_key_id uuid, p_reason text, p_acted_by text) returns void
language plpgsql
as $$
declare
  v_principal text;
begin
  update identity.signing_key set revoked_at = internal.now(), revoke_reason = p_reason
   where key_id = p_key_id and revoked_at is null
  returning principal into v_principal;
  if found then
    perform identity.record(p_acted_by, 'key_revoked', v_principal, jsonb_build_object('key_id', p_key_id, 'reason', p_reason));
  end if;
end
$$;
