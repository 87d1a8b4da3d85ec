-- owner: chancery_guard
-- promise: every invariant of IG_grant_probe holds
create or replace function orchestrator.guard_ig_grant_probe(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select orchestrator.holds(orchestrator.gate_invariants('IG_grant_probe', (p_context #>> '{run,id}')::uuid, p_context -> 'evidence')) $$;
