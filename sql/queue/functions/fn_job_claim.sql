-- promise: up to so many due jobs of the class are leased to the worker until their lease runs out, is extended or reported on: a turn
--          without results.
-- callers: chancery_app (executor_worker)
-- arrow: queued, retry_waiting → leased
-- refuses with: RE006 the class is unknown, RE018 the worker's name or the number, RI001–RI004
create or replace function queue.fn_job_claim(p_executor_class text, p_limit integer, p_worker text, p_principal text) returns setof queue.leased_job
language sql security definer set search_path = pg_catalog, pg_temp
as $$ select t.* from queue.fn_job_turn(p_executor_class, p_limit, p_worker, p_principal, '{}', '{}', '{}', '{}') t where t.job_id is not null $$;
