-- promise: the results of a worker are on record, each once; a late one changes nothing and stands in the report under "refused".
-- callers: chancery_app (executor_worker)
-- refuses with: RE007, RE008, RE018, RI001–RI004; in the report RE010 the lease is lost, RE011 no such job
create or replace function queue.fn_job_ack(
  p_worker text, p_principal text, p_job_ids uuid[], p_lease_nos integer[], p_outcomes text[], p_details jsonb[]
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_owner constant text := queue.lease_owner(p_worker, p_principal, null);
begin
  return queue.ack(v_owner, p_job_ids, p_lease_nos, p_outcomes, p_details);
end
$$;
