-- promise: who shows the right hash is signed in. Wrong ones are counted, so nothing is raised.
-- callers: chancery_app
-- locks: the count of wrong ones of this name (update)
-- says: RI044, RI045 as identity.password_problems
create or replace function identity.fn_sign_in(p_name text, p_hash bytea, p_session_id uuid, p_token_sha256 bytea, p_csrf_sha256 bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems jsonb := identity.password_problems(p_name, p_hash);
begin
  if v_problems <> '[]' then
    return jsonb_build_object('ok', false, 'problems', v_problems);
  end if;
  return identity.open_session(p_name, 'password', p_session_id, p_token_sha256, p_csrf_sha256);
end
$$;
