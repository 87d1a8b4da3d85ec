-- promise: the authorized units are written, all of them, as drafts, and the run says so, in one transaction. The ledger follows in leg B.
-- callers: cutter_exec (executor_dot991)
-- arrow: awaiting_cut_authorization → cut_leg_a_committed
-- locks: the run (update), its approvals (its turn), its request (update), the document's prefix (its turn)
-- refuses with: RO001–RO005, RC011, RA002, RA003, RA006, RI001–RI004, RI024, RS…
create or replace function orchestrator.fn_cut_leg_a(p_run_id uuid, p_evidence jsonb, p_document text, p_tool_revision text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
  v_entry cutter_governance.decision_backlog_entry;
  v_envelope cutter_governance.manifest_envelope;
  v_digests bytea[];
begin
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, 'SG_cut_authz_received');
  if v_before is not null then
    return v_before;
  end if;
  perform orchestrator.require_no_drift(v_run);
  perform orchestrator.require_authorized(v_run, 'SG_cut_authz', p_evidence, p_principal);
  v_entry := cutter_governance.require_entry(v_run.entry_id);
  perform cutter_governance.require_allowed(v_entry, 'cut_applied', 'executor_dot991', 'cut', p_principal, jsonb_build_object(
    'review_decision_id', internal.derived_uuid(p_run_id, 'cut_decision'), 'change_set_id', internal.derived_uuid(p_run_id, 'change_set')));
  select m.* into strict v_envelope from cutter_governance.manifest_envelope m where m.envelope_id = internal.derived_uuid(p_run_id, 'manifest');
  v_digests := cutter_governance.create_units(internal.derived_uuid(p_run_id, 'change_set'), v_envelope, v_entry.started_by, p_principal, p_tool_revision);
  return orchestrator.pass(
    v_run, 'SG_cut_authz_received',
    p_evidence || jsonb_build_object('writer_digest', encode(cutter_governance.writer_digest(v_envelope.envelope_id, v_entry.started_by), 'hex')),
    p_document, p_principal, 'executor_dot991', v_digests || orchestrator.approval_digest(p_evidence));
end
$$;
