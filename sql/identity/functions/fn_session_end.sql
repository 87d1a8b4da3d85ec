-- promise: the session is over. Repeating it changes nothing.
-- callers: chancery_app
create or replace function identity.fn_session_end(p_session_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_principal text;
begin
  update identity.session set ended_at = internal.now() where session_id = p_session_id and ended_at is null returning principal into v_principal;
  if found then
    perform identity.record(v_principal, 'signed_out', v_principal, jsonb_build_object('session_id', p_session_id));
  end if;
end
$$;
