-- promise: the failed ones among the results are on record: they wait for their next try, or are dead. Returns how many were taken.
-- callers: queue.ack
create or replace function queue.settle_failures(
  p_owner text, p_job_ids uuid[], p_lease_nos integer[], p_outcomes text[], p_details jsonb[], p_now timestamptz
) returns uuid[]
language plpgsql
as $$
declare
  v_kept constant integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'queue.failures.kept');
  v_taken uuid[] := '{}';
  v_job record;
begin
  for v_job in
    with given as (
      select g.* from unnest(p_job_ids, p_lease_nos, p_outcomes, p_details) g (job_id, lease_no, outcome, detail) where g.outcome <> 'succeeded')
    update queue.job_queue q
       set state = case when g.outcome = 'failed_for_good' or q.attempts >= q.max_attempts then 'failed' else 'retry_waiting' end,
           scheduled_at = case when g.outcome = 'failed_for_good' or q.attempts >= q.max_attempts then 'infinity' else p_now + queue.backoff(p, q.attempts) end,
           failures = queue.with_failure(q.failures, q.attempts, q.lease_owner, g.outcome, case when internal.is_blank(g.detail ->> 'reason') then 'no reason given' else btrim(g.detail ->> 'reason') end, p_now, v_kept),
           lease_owner = null, lease_until = null, last_transition_at = p_now
      from given g, queue.executor_class_registry c, queue.retry_policy_registry p
     where q.job_id = g.job_id and q.lease_no = g.lease_no and q.lease_owner = p_owner
       and c.executor_class = q.executor_class and p.policy = c.policy
    returning q.job_id, q.state, g.outcome, case when internal.is_blank(g.detail ->> 'reason') then 'no reason given' else btrim(g.detail ->> 'reason') end as reason
  loop
    v_taken := v_taken || v_job.job_id;
    if v_job.state = 'failed' then
      perform queue.die(v_job.job_id, case v_job.outcome when 'failed_for_good' then 'permanent' else 'attempts_exhausted' end, v_job.reason);
    end if;
  end loop;
  return v_taken;
end
$$;
