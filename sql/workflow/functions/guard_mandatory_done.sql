-- owner: chancery_guard
-- promise: true when nothing mandatory is left to do in the run
create or replace function workflow.guard_mandatory_done(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select workflow.is_complete((p_context #>> '{run,id}')::uuid)
$$;
