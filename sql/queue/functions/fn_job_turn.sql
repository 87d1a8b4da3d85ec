-- promise: the results are on record and the next jobs are leased, in one transaction: a worker that keeps going needs one commit a
--          turn. The first row carries the report on the results and no job. The most urgent lane goes first, the oldest job first in
--          a lane; each lease has a higher number than any before it of that job.
-- callers: chancery_app (executor_worker), queue.fn_job_claim
-- arrow: see queue.ack; queued, retry_waiting → leased
-- locks: the jobs, skipping what others hold
-- refuses with: RE006 the class is unknown, RE007, RE008, RE018, RI001–RI004
--
-- Why the two settings: a plan is kept for the life of a connection, and one that was made while a table was empty would read all of
-- it for each job once it is full (1.5 s a turn were seen).
create or replace function queue.fn_job_turn(
  p_executor_class text, p_limit integer, p_worker text, p_principal text, p_job_ids uuid[], p_lease_nos integer[], p_outcomes text[], p_details jsonb[]
) returns setof queue.leased_job
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_owner constant text := queue.lease_owner(p_worker, p_principal, coalesce(p_limit, 0));
  v_now timestamptz;
  v_report queue.leased_job;
  v_lane record;
  v_hint queue.lane;
  v_left integer := p_limit;
  v_taken integer;
begin
  v_report.report := queue.ack(v_owner, p_job_ids, p_lease_nos, p_outcomes, p_details);
  return next v_report;
  v_now := internal.now();
  for v_lane in
    select l.executor_class, l.priority, l.low_scheduled_at, l.low_job_no, l.as_of, c.lease_seconds, c.policy
      from queue.executor_class_registry c join queue.lane l on l.executor_class = c.executor_class
     where c.executor_class = p_executor_class and c.active
     order by l.priority
  loop
    exit when v_left = 0;
    if v_lane.as_of < v_now - interval '1 second' then
      v_hint := queue.refresh_lane(
        row(v_lane.executor_class, v_lane.priority, v_lane.low_scheduled_at, v_lane.low_job_no, v_lane.as_of)::queue.lane,
        (select p from queue.retry_policy_registry p where p.policy = v_lane.policy), v_now);
      v_lane.low_scheduled_at := v_hint.low_scheduled_at;
      v_lane.low_job_no := v_hint.low_job_no;
      -- A hint that nobody renewed is not believed: a late commit behind it would never be found.
      if v_hint.as_of < v_now - interval '5 seconds' then
        v_lane.low_scheduled_at := '-infinity';
      end if;
    end if;
    return query
    update queue.job_queue q
       set state = 'leased', lease_no = q.lease_no + 1, attempts = q.attempts + 1, lease_owner = v_owner,
           lease_until = v_now + v_lane.lease_seconds * interval '1 second', picked_at = v_now, last_transition_at = v_now
     where q.ctid = any (array(
             select c.ctid from queue.job_queue c
              where c.executor_class = p_executor_class and c.priority = v_lane.priority
                and (c.scheduled_at, c.job_no) >= (v_lane.low_scheduled_at, v_lane.low_job_no) and c.scheduled_at <= v_now
                and c.state in ('queued', 'retry_waiting')
              order by c.scheduled_at, c.job_no limit v_left for update skip locked))
    returning q.job_id, q.job_no, q.lease_no, q.job_kind, q.attempts, q.payload_json, q.payload_ref, q.source_ref, q.target_ref, q.trace_id,
              q.correlation_id, q.lease_until, q.priority, null::jsonb;
    get diagnostics v_taken = row_count;
    v_left := v_left - v_taken;
  end loop;
  -- Without a lane nothing was ever enqueued for the class, or there is no such class.
  if v_taken is null and not exists (select from queue.executor_class_registry c where c.executor_class = p_executor_class and c.active) then
    perform internal.refuse(queue.class_unknown(jsonb_build_array(p_executor_class)));
  end if;
end
$$;
