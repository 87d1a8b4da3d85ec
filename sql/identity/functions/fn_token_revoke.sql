-- promise: the token is good for nothing any more. Repeating it changes nothing.
-- callers: chancery_app for whose it is; chancery_migrator (the operator)
-- refuses with: RI041 no such token of this principal, RI013 no reason
create or replace function identity.fn_token_revoke(p_token_id uuid, p_reason text, p_acted_by text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_principal text;
begin
  if internal.is_blank(p_reason) then
    perform internal.refuse(internal.problem('RI013', jsonb_build_object('token_id', p_token_id)));
  end if;
  select t.principal into v_principal from identity.api_token t where t.token_id = p_token_id for update;
  if v_principal is null or (session_user <> 'chancery_migrator' and v_principal is distinct from p_acted_by) then
    perform internal.refuse(internal.problem('RI041', jsonb_build_object('how', 'token', 'token_id', p_token_id)));
  end if;
  update identity.api_token set revoked_at = internal.now(), revoke_reason = p_reason where token_id = p_token_id and revoked_at is null;
  if found then
    perform identity.record(p_acted_by, 'token_revoked', v_principal, jsonb_build_object('token_id', p_token_id, 'reason', p_reason));
  end if;
  return (select to_jsonb(v) from identity.v_api_token v where v.token_id = p_token_id);
end
$$;
