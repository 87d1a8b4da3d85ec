-- promise: what is wrong with this password of this name; an empty array when it is right. Every question costs the same, whether somebody has the
--          name or not: it counts as wrong until it turns out to be right. After too many wrong ones the right one is wrong as well, until the window
--          is over. What is wrong is not told apart: no such name, no password, another one, not active.
-- callers: identity.fn_sign_in, identity.fn_password_set; nothing may be raised afterwards, or the count is undone
-- locks: the count of the name (update), so that guesses of one name come one by one
-- says: RI044 wrong, RI045 too many wrong ones
create or replace function identity.password_problems(p_name text, p_hash bytea) returns jsonb
language plpgsql
as $$
declare
  v_now timestamptz := internal.now();
  v_window interval := make_interval(mins => (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'sign_in.window_minutes'));
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'sign_in.failures');
  v_digest bytea := (select sha256(d.salt || convert_to(coalesce(p_name, ''), 'UTF8')) from identity.decoy d);
  v_attempt record;
  v_known boolean;
  v_right boolean;
begin
  insert into identity.sign_in_attempt as a (name_sha256, failures, failing_since) values (v_digest, 1, v_now)
  on conflict (name_sha256) do update set
    failures = case when a.failing_since + v_window <= v_now then 1 else least(a.failures, v_most) + 1 end,
    failing_since = case when a.failing_since + v_window <= v_now then v_now else a.failing_since end
  returning failures, failing_since into v_attempt;
  -- Compared by digest: how far two hashes are alike can't be told from the time it takes.
  select true, p.active and p.kind = 'human' and sha256(c.hash) = sha256(p_hash) into v_known, v_right
    from identity.credential c join identity.principal p on p.name = c.principal where c.principal = p_name;
  if v_attempt.failures > v_most then
    return internal.problem('RI045', jsonb_build_object('name', left(p_name, 63), 'again_at', v_attempt.failing_since + v_window));
  elsif v_right then
    delete from identity.sign_in_attempt where name_sha256 = v_digest;
    return '[]';
  end if;
  if v_known then
    perform identity.record(null, 'sign_in_failed', p_name, jsonb_build_object('failures', v_attempt.failures));
  end if;
  -- What is past its window is forgotten a little at a time; what somebody else holds is not waited for.
  delete from identity.sign_in_attempt where name_sha256 in (
    select a.name_sha256 from identity.sign_in_attempt a where a.failing_since + v_window <= v_now order by a.failing_since limit 10 for update skip locked);
  return internal.problem('RI044', jsonb_build_object('name', left(p_name, 63)));
end
$$;
