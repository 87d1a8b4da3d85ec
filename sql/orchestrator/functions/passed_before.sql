-- promise: the answer to a gate that the run passed before; null when it did not.
create or replace function orchestrator.passed_before(p_run orchestrator.run, p_gate text) returns jsonb
language sql stable
as $$
  select orchestrator.report(p_run.run_id, jsonb_build_object('gate', p_gate, 'replayed', true, 'invariants', l.evidence::jsonb -> 'invariants'))
    from fsm.transition_log l where l.run_id = p_run.run_id and l.idempotency_key = p_gate
$$;
