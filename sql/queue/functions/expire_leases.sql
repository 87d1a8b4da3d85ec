-- promise: jobs of the lane whose lease ran out wait for their next try, or are dead when that was the last. They stand before what
--          was never claimed, since claims go in order; so the look ends at the first waiting job.
-- callers: queue.claim, once a second a lane
-- locks: the jobs, skipping those that somebody is just reporting on
create or replace function queue.expire_leases(p_executor_class text, p_priority integer, p_policy queue.retry_policy_registry, p_now timestamptz) returns integer
language plpgsql
as $$
declare
  v_kept constant integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'queue.failures.kept');
  v_expired tid[];
  v_job record;
begin
  v_expired := array(
    select q.ctid from queue.job_queue q
     where q.executor_class = p_executor_class and q.priority = p_priority and q.scheduled_at <= p_now and q.lease_until < p_now
     order by q.scheduled_at, q.job_no limit 1000 for update skip locked);
  for v_job in
    update queue.job_queue q
       set state = case when q.attempts >= q.max_attempts then 'failed' else 'retry_waiting' end,
           scheduled_at = case when q.attempts >= q.max_attempts then 'infinity' else p_now + queue.backoff(p_policy, q.attempts) end,
           failures = queue.with_failure(q.failures, q.attempts, q.lease_owner, 'lease_expired', 'the worker did not report before its lease ran out', p_now, v_kept),
           lease_owner = null, lease_until = null, last_transition_at = p_now
     where q.ctid = any (v_expired)
    returning q.job_id, q.state
  loop
    if v_job.state = 'failed' then
      perform queue.die(v_job.job_id, 'lease_expired', 'the last try ended without a report before its lease ran out');
    end if;
  end loop;
  return cardinality(v_expired);
end
$$;
