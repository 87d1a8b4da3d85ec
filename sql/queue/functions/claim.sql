-- promise: up to so many due jobs of the class are leased to the worker, the most urgent lane first, the oldest first in a lane. Each
--          lease has a higher number than any before it of that job.
-- callers: queue.fn_job_claim, queue.fn_job_turn
-- locks: the jobs, skipping what others hold
create or replace function queue.claim(p_executor_class text, p_limit integer, p_worker text) returns setof queue.leased_job
language plpgsql
as $$
declare
  v_class queue.executor_class_registry;
  v_policy queue.retry_policy_registry;
  v_now timestamptz := internal.now();
  v_lane queue.lane;
  v_left integer := p_limit;
  v_taken integer;
begin
  select c.* into v_class from queue.executor_class_registry c where c.executor_class = p_executor_class and c.active;
  if not found then
    perform internal.refuse(internal.problem('RE006', jsonb_build_object('classes', jsonb_build_array(p_executor_class), 'known', (
      select coalesce(jsonb_agg(c.executor_class order by 1), '[]') from queue.executor_class_registry c where c.active))));
  end if;
  for v_lane in select l.* from queue.lane l where l.executor_class = p_executor_class order by l.priority loop
    exit when v_left = 0;
    if v_lane.as_of < v_now - interval '1 second' then
      select p.* into v_policy from queue.retry_policy_registry p where p.policy = v_class.policy;
      v_lane := queue.refresh_lane(v_lane, v_policy, v_now);
    end if;
    -- A hint that nobody renewed is not believed: a late commit behind it would never be found.
    if v_lane.as_of < v_now - interval '5 seconds' then
      v_lane.low_scheduled_at := '-infinity';
    end if;
    return query
    update queue.job_queue q
       set state = 'leased', lease_no = q.lease_no + 1, attempts = q.attempts + 1, lease_owner = p_worker,
           lease_until = v_now + v_class.lease_seconds * interval '1 second', picked_at = v_now, last_transition_at = v_now
     where q.ctid = any (array(
             select c.ctid from queue.job_queue c
              where c.executor_class = p_executor_class and c.priority = v_lane.priority
                and (c.scheduled_at, c.job_no) >= (v_lane.low_scheduled_at, v_lane.low_job_no) and c.scheduled_at <= v_now
                and c.state in ('queued', 'retry_waiting')
              order by c.scheduled_at, c.job_no limit v_left for update skip locked))
    returning q.job_id, q.job_no, q.lease_no, q.job_kind, q.attempts, q.payload_json, q.payload_ref, q.source_ref, q.target_ref, q.trace_id,
              q.correlation_id, q.lease_until, null::jsonb;
    get diagnostics v_taken = row_count;
    v_left := v_left - v_taken;
  end loop;
end
$$;
