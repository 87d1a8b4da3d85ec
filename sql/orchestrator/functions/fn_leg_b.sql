-- promise: the ledger of what leg A wrote stands, signed by the executor, the request is cut, and the run says so, in one transaction.
-- callers: cutter_exec (executor_dot991)
-- arrow: structural_verified → leg_b_recorded; the request: reviewed_approved → cut_applied
-- locks: the run (update), its request (update), the signer's chain (its turn)
-- refuses with: RO001–RO003, RO005, RC007, RC009, RC010, RC012, RI001–RI008, RI051, RS…
create or replace function orchestrator.fn_leg_b(
  p_run_id uuid, p_evidence jsonb, p_document text, p_change_set_digest bytea, p_tool_revision text, p_principal text, p_prior_signature_id uuid, p_key_id uuid,
  p_signed_at bigint, p_signature_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
  v_entry cutter_governance.decision_backlog_entry;
  v_change_set_id uuid := internal.derived_uuid(p_run_id, 'change_set');
begin
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.cutter.v1+json', p_signature_payload, p_signature);
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, 'IG_leg_b_record');
  if v_before is not null then
    return v_before;
  end if;
  perform orchestrator.require_no_drift(v_run);
  v_entry := cutter_governance.require_entry(v_run.entry_id);
  perform identity.require_signer(p_principal, 'executor_dot991', p_key_id, p_signed_at, p_signature);
  perform cutter_governance.require_chain_end('DOT-991', p_principal, p_prior_signature_id);
  perform cutter_governance.record_cut(
    v_entry, v_change_set_id, internal.derived_uuid(p_run_id, 'cut_decision'), p_change_set_digest, p_tool_revision, p_principal,
    internal.derived_uuid(p_run_id, 'executor_signature'), p_prior_signature_id, p_key_id, p_signed_at, p_signature_payload, p_signature);
  return orchestrator.pass(
    v_run, 'IG_leg_b_record', p_evidence || jsonb_build_object('change_set_id', v_change_set_id), p_document, p_principal, 'executor_dot991',
    array[(select c.row_digest from cutter_governance.cut_change_set c where c.change_set_id = v_change_set_id)]);
end
$$;
