-- promise: the leases that are still the worker's last as long as a new one from now on; the jobs are in progress. Returns the ids of
--          those; what is missing was lost, or its result is just being recorded.
-- callers: chancery_app (executor_worker)
-- arrow: leased → in_progress
-- locks: the jobs, skipping those that somebody is just reporting on or cancelling: waiting for them in another order is a deadlock
-- refuses with: RE018, RI001–RI004
create or replace function queue.fn_job_extend(p_worker text, p_principal text, p_job_ids uuid[], p_lease_nos integer[]) returns uuid[]
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_owner constant text := queue.lease_owner(p_worker, p_principal, null);
  v_now timestamptz := internal.now();
  v_kept uuid[];
begin
  with kept as (
    update queue.job_queue q
       set state = 'in_progress', lease_until = v_now + c.lease_seconds * interval '1 second', last_transition_at = v_now
      from queue.executor_class_registry c
     where q.job_id = any (array(
             select h.job_id from queue.job_queue h, unnest(p_job_ids, p_lease_nos) g (job_id, lease_no)
              where h.job_id = g.job_id and h.lease_no = g.lease_no and h.lease_owner = v_owner
                for update of h skip locked))
       and c.executor_class = q.executor_class
    returning q.job_id)
  select coalesce(array_agg(k.job_id), '{}') into v_kept from kept k;
  return v_kept;
end
$$;
