-- promise: the lane's hint says where its claimable jobs begin now, and leases that ran out are seen to. One caller at a time does it.
create or replace function queue.refresh_lane(p_lane queue.lane, p_policy queue.retry_policy_registry, p_now timestamptz) returns queue.lane
language plpgsql
as $$
declare
  v_first record;
begin
  perform from queue.lane l where l.executor_class = p_lane.executor_class and l.priority = p_lane.priority and l.as_of = p_lane.as_of for update skip locked;
  if not found then
    return p_lane;
  end if;
  perform queue.expire_leases(p_lane.executor_class, p_lane.priority, p_policy, p_now);
  select q.scheduled_at, q.job_no into v_first
    from queue.job_queue q
   where q.executor_class = p_lane.executor_class and q.priority = p_lane.priority and q.scheduled_at <= p_now and q.state in ('queued', 'retry_waiting')
   order by q.scheduled_at, q.job_no limit 1;
  -- A job that is being enqueued right now has an earlier time than its commit: the last seconds are always looked at.
  if v_first.scheduled_at < p_now - interval '2 seconds' then
    p_lane.low_scheduled_at := v_first.scheduled_at;
    p_lane.low_job_no := v_first.job_no;
  else
    p_lane.low_scheduled_at := p_now - interval '2 seconds';
    p_lane.low_job_no := 0;
  end if;
  p_lane.as_of := p_now;
  update queue.lane l set low_scheduled_at = p_lane.low_scheduled_at, low_job_no = p_lane.low_job_no, as_of = p_now
   where l.executor_class = p_lane.executor_class and l.priority = p_lane.priority;
  return p_lane;
end
$$;
