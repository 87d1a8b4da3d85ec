-- promise: up to so many due jobs of the class are leased to the worker until their lease runs out, is extended or reported on.
-- callers: chancery_app (executor_worker)
-- arrow: queued, retry_waiting → leased
--
-- Why the two settings: a plan is kept for the life of a connection, and one that was made while a table was empty would read all of
-- it for each job once it is full (1.5 s a claim were seen).
-- refuses with: RE006 the class is unknown, RE018 the worker's name or the number, RI001–RI004
create or replace function queue.fn_job_claim(p_executor_class text, p_limit integer, p_worker text, p_principal text) returns setof queue.leased_job
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_known constant boolean := queue.require_worker(p_worker, p_principal, coalesce(p_limit, 0));
begin
  return query select c.* from queue.claim(p_executor_class, p_limit, p_worker) c;
end
$$;
