-- promise: the policy stands as given; failures from now on follow it.
-- callers: chancery_migrator (the operator)
-- refuses with: RE013 a number out of range
create or replace function queue.fn_retry_policy_put(
  p_policy text, p_max_attempts integer, p_base_delay_ms bigint, p_factor numeric, p_max_delay_ms bigint, p_jitter numeric, p_description text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if p_policy is null or p_policy !~ '^[a-z][a-z0-9_]*$' or internal.is_blank(p_description)
     or not coalesce(p_max_attempts between 1 and 1000 and p_base_delay_ms >= 0 and p_max_delay_ms >= p_base_delay_ms and p_max_delay_ms <= 2592000000
                     and p_factor between 1 and 100 and p_jitter between 0 and 1, false) then
    perform internal.refuse(internal.problem('RE013', jsonb_build_object(
      'policy', p_policy, 'max_attempts', p_max_attempts, 'base_delay_ms', p_base_delay_ms, 'factor', p_factor, 'max_delay_ms', p_max_delay_ms, 'jitter', p_jitter)));
  end if;
  insert into queue.retry_policy_registry as r (policy, max_attempts, base_delay_ms, factor, max_delay_ms, jitter, description, registered_at)
  values (p_policy, p_max_attempts, p_base_delay_ms, p_factor, p_max_delay_ms, p_jitter, p_description, internal.now())
  on conflict (policy) do update
    set max_attempts = excluded.max_attempts, base_delay_ms = excluded.base_delay_ms, factor = excluded.factor, max_delay_ms = excluded.max_delay_ms,
        jitter = excluded.jitter, description = excluded.description, registered_at = excluded.registered_at;
  return (select to_jsonb(r) from queue.retry_policy_registry r where r.policy = p_policy);
end
$$;
