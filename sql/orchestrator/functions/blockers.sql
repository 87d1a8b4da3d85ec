-- promise: what stands in the way of invariants that are about something else than the run: a member for each such invariant that is violated.
create or replace function orchestrator.blockers(p_run orchestrator.run, p_invariants jsonb) returns jsonb
language sql stable
as $$
  select case when p_invariants -> 'addresses_free' = 'false'
              then jsonb_build_object('blockers', jsonb_build_object('addresses_free', orchestrator.stray_units(p_run.document_id, '{}'))) else '{}' end
$$;
