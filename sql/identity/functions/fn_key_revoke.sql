-- promise: see identity.revoke_key. Repeating it changes nothing.
-- callers: chancery_migrator (the operator)
-- refuses with: RI005 unknown key, RI013 no reason
create or replace function identity.fn_key_revoke(p_key_id uuid, p_reason text, p_acted_by text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if internal.is_blank(p_reason) then
    perform internal.refuse(internal.problem('RI013', jsonb_build_object('key_id', p_key_id)));
  end if;
  if not exists (select from identity.signing_key k where k.key_id = p_key_id) then
    perform internal.refuse(internal.problem('RI005', jsonb_build_object('key_id', p_key_id)));
  end if;
  perform identity.revoke_key(p_key_id, p_reason, p_acted_by);
  return (select to_jsonb(v) from identity.v_signing_key v where v.key_id = p_key_id);
end
$$;
