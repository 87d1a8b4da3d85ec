-- promise: what a gate would find now: its invariants by name, what drifted, what an approval would have to say. Writes nothing.
-- callers: cutter_exec, cutter_verify, cutter_review, chancery_app
create or replace function orchestrator.fn_gate_preview(p_run_id uuid, p_gate text, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'invariants', orchestrator.gate_invariants(p_gate, p_run_id, p_evidence), 'drift', orchestrator.drift(p_run_id), 'survey', orchestrator.survey(p_run_id),
    'pins', orchestrator.pins(p_run_id), 'binding', case when p_gate in ('SG_cut_authz', 'SG_lifecycle_authz', 'SG_resume_stopped', 'SG_drift_ack')
                                                        then orchestrator.binding(p_run_id, p_gate) end)
$$;
