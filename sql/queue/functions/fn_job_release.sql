-- promise: jobs that the worker leased and did not start are in the queue again, as if it had not tried. Their lease numbers stay used.
-- callers: chancery_app (executor_worker), a worker that ends in good order
-- arrow: leased, in_progress → queued
-- locks: the jobs, skipping those that somebody is just cancelling
-- refuses with: RE018, RI001–RI004
create or replace function queue.fn_job_release(p_worker text, p_principal text, p_job_ids uuid[], p_lease_nos integer[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_owner constant text := queue.lease_owner(p_worker, p_principal, null);
  v_released integer;
begin
  update queue.job_queue q
     set state = 'queued', attempts = q.attempts - 1, lease_owner = null, lease_until = null, last_transition_at = internal.now()
   where q.job_id = any (array(
           select h.job_id from queue.job_queue h, unnest(p_job_ids, p_lease_nos) g (job_id, lease_no)
            where h.job_id = g.job_id and h.lease_no = g.lease_no and h.lease_owner = v_owner
              for update of h skip locked));
  get diagnostics v_released = row_count;
  return v_released;
end
$$;
