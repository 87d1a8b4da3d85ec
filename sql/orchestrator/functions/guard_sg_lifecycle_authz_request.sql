-- owner: chancery_guard
-- promise: every invariant of SG_lifecycle_authz_request holds
create or replace function orchestrator.guard_sg_lifecycle_authz_request(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select orchestrator.holds(orchestrator.gate_invariants('SG_lifecycle_authz_request', (p_context #>> '{run,id}')::uuid, p_context -> 'evidence')) $$;
