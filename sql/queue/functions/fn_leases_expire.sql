-- promise: leases that ran out are seen to in every lane, also in those where no worker asks for jobs: what can be tried again waits
--          for its next try, and what cannot is a dead letter. Returns how many lanes were looked at; a lane that a claim looked at
--          within the last second is left alone.
-- callers: chancery_app (system), the loop lease_expiry. Safe to call from anywhere, any number of times, at once.
-- locks: the lanes, skipping those that a claim is just looking at; their jobs, skipping those that somebody is just reporting on
-- refuses with: RI001–RI004
create or replace function queue.fn_leases_expire(p_principal text) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := internal.now();
  v_lane record;
  v_seen integer := 0;
begin
  perform identity.require_actor(p_principal, 'system');
  -- In one order, so that two callers never wait for each other's dead letters.
  for v_lane in
    select l as lane, p as policy
      from queue.lane l join queue.executor_class_registry c using (executor_class) join queue.retry_policy_registry p using (policy)
     where l.as_of < v_now - interval '1 second'
     order by l.executor_class, l.priority
  loop
    perform queue.refresh_lane(v_lane.lane, v_lane.policy, v_now);
    v_seen := v_seen + 1;
  end loop;
  return v_seen;
end
$$;
