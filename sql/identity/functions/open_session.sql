-- promise: the principal is signed in as from now, and that stands in the identity log.
-- callers: identity.fn_sign_in, identity.fn_sign_in_oidc
create or replace function identity.open_session(p_principal text, p_how text, p_session_id uuid, p_token_sha256 bytea, p_csrf_sha256 bytea) returns jsonb
language plpgsql
as $$
declare
  v_now timestamptz := internal.now();
  v_until timestamptz := v_now + make_interval(hours => (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'session.hours'));
begin
  insert into identity.session (session_id, token_sha256, csrf_sha256, principal, how, opened_at, expires_at)
  values (p_session_id, p_token_sha256, p_csrf_sha256, p_principal, p_how, v_now, v_until);
  perform identity.record(p_principal, 'signed_in', p_principal, jsonb_build_object('session_id', p_session_id, 'how', p_how));
  return jsonb_build_object('ok', true, 'principal', p_principal, 'session_id', p_session_id, 'expires_at', v_until);
end
$$;
