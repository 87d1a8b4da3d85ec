-- owner: chancery_guard
-- promise: every invariant of IG_cut_leg_a_execute holds
create or replace function orchestrator.guard_ig_cut_leg_a_execute(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select orchestrator.holds(orchestrator.gate_invariants('IG_cut_leg_a_execute', (p_context #>> '{run,id}')::uuid, p_context -> 'evidence')) $$;
