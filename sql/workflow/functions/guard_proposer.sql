-- owner: chancery_guard
-- promise: true when the actor wrote the proposal
create or replace function workflow.guard_proposer(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p_context #>> '{actor,principal}' = p_context #>> '{run,started_by}'
$$;
