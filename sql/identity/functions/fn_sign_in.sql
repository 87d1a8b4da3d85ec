-- promise: who shows the right hash is signed in. What is wrong is not told apart: no such name, no password, another one, not active. Wrong ones
--          are counted, so nothing is raised; after too many the right one is refused as well, until the window is over.
-- callers: chancery_app
-- locks: the credential (update), so that guesses of one name come one by one
-- says: RI044 wrong, RI045 too many wrong ones
create or replace function identity.fn_sign_in(p_name text, p_hash bytea, p_session_id uuid, p_token_sha256 bytea, p_csrf_sha256 bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := internal.now();
  v_window interval := make_interval(mins => (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'sign_in.window_minutes'));
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'sign_in.failures');
  v_credential record;
begin
  select c.hash, c.failures, c.failing_since, p.active and p.kind = 'human' as usable into v_credential
    from identity.credential c join identity.principal p on p.name = c.principal where c.principal = p_name for update of c;
  if not found then
    return jsonb_build_object('ok', false, 'problems', internal.problem('RI044', jsonb_build_object('name', left(p_name, 63))));
  end if;
  if v_credential.failing_since + v_window <= v_now then
    v_credential.failures := 0;
    v_credential.failing_since := null;
  end if;
  if v_credential.failures >= v_most then
    return jsonb_build_object('ok', false, 'problems', internal.problem('RI045', jsonb_build_object(
      'name', p_name, 'again_at', v_credential.failing_since + v_window)));
  end if;
  -- Compared by digest: how far two hashes are alike can't be told from the time it takes.
  if v_credential.usable and sha256(v_credential.hash) = sha256(p_hash) then
    if v_credential.failures > 0 then
      update identity.credential set failures = 0, failing_since = null where principal = p_name;
    end if;
    return identity.open_session(p_name, 'password', p_session_id, p_token_sha256, p_csrf_sha256);
  end if;
  update identity.credential set failures = v_credential.failures + 1, failing_since = coalesce(v_credential.failing_since, v_now) where principal = p_name;
  perform identity.record(null, 'sign_in_failed', p_name, jsonb_build_object('failures', v_credential.failures + 1));
  return jsonb_build_object('ok', false, 'problems', internal.problem('RI044', jsonb_build_object('name', p_name)));
end
$$;
