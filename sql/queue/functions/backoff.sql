-- promise: how long a job waits after its n-th failure: growing from the policy's first delay to its longest, less a random share.
create or replace function queue.backoff(p_policy queue.retry_policy_registry, p_attempts integer) returns interval
language sql volatile
as $$
  select least(p_policy.max_delay_ms, p_policy.base_delay_ms * power(p_policy.factor, least(p_attempts - 1, 60)))::double precision
         * (1 - p_policy.jitter::double precision * random()) * interval '1 ms'
$$;
