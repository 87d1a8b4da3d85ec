-- promise: the results are on record and the next jobs are leased, in one transaction: a worker that keeps going needs one commit a turn.
--          The first row carries the report on the results and no job.
-- callers: chancery_app (executor_worker)
-- refuses with: RE006, RE007, RE008, RE018, RI001–RI004
create or replace function queue.fn_job_turn(
  p_executor_class text, p_limit integer, p_worker text, p_principal text, p_job_ids uuid[], p_lease_nos integer[], p_outcomes text[], p_details jsonb[]
) returns setof queue.leased_job
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_known constant boolean := queue.require_worker(p_worker, p_principal, coalesce(p_limit, 0));
  v_report queue.leased_job;
begin
  v_report.report := queue.ack(p_worker, p_job_ids, p_lease_nos, p_outcomes, p_details);
  return next v_report;
  return query select c.* from queue.claim(p_executor_class, p_limit, p_worker) c;
end
$$;
