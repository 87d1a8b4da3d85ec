-- promise: the verifier's own verdict on the run's change set stands, and a pass takes the run past IG_write_verify, in one transaction.
--          A fail takes the cut back and escalates (see cutter_governance.fn_verify); the run then fails at this gate.
-- callers: cutter_verify (verifier_dot992)
-- arrow: leg_b_recorded → write_verified | failed_write_verify; the request: cut_applied → verified_complete | verify_failed_escalated
-- locks: the run (update), then see cutter_governance.verify
-- refuses with: RO001–RO003, RO005, RC007, RC009, RC010, RC013, RC014, RC019, RC020, RI001–RI008, RI051, RS…
create or replace function orchestrator.fn_write_verify(
  p_run_id uuid, p_evidence jsonb, p_document text, p_verdict text, p_findings jsonb, p_tool_revision text, p_principal text,
  p_prior_signature_id uuid, p_key_id uuid, p_signed_at bigint, p_signature_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
  v_result jsonb;
  v_digest bytea;
  v_report jsonb;
  v_document record;
begin
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.cutter.v1+json', p_signature_payload, p_signature);
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, 'IG_write_verify');
  if v_before is not null then
    return v_before;
  end if;
  if v_run.state_code <> 'leg_b_recorded' then
    perform internal.refuse(internal.problem('RO005', jsonb_build_object(
      'run_id', v_run.run_name, 'state', v_run.state_code, 'gate', 'IG_write_verify', 'actor_class', 'verifier_dot992')));
  end if;
  perform orchestrator.require_no_drift(v_run);
  v_result := cutter_governance.verify(
    v_run.entry_id, internal.derived_uuid(p_run_id, 'verify_result'), internal.derived_uuid(p_run_id, 'change_set'), p_verdict, p_findings, null, p_tool_revision,
    p_principal, internal.derived_uuid(p_run_id, 'verifier_signature'), p_prior_signature_id, p_key_id, p_signed_at, p_signature_payload, p_signature);
  v_digest := (select v.row_digest from cutter_governance.verify_result v where v.verify_result_id = internal.derived_uuid(p_run_id, 'verify_result'));
  if p_verdict = 'pass' then
    return orchestrator.pass(
      v_run, 'IG_write_verify', p_evidence || jsonb_build_object('verify_result_id', v_result -> 'verify_result_id'), p_document, p_principal, 'verifier_dot992',
      array[v_digest]);
  end if;
  v_document := orchestrator.put_document(v_run, 'stop-route-report-' || v_run.seq + 1, 'report', p_document, p_principal, 'verifier_dot992');
  v_report := fsm.move(
    p_run_id, 'orchestrator_run', v_run.state_code, 'failed_write_verify', 'verifier_dot992', 'event', 'invariant_violation',
    p_evidence || jsonb_build_object(
      'gate', 'IG_write_verify', 'verify_result_id', v_result -> 'verify_result_id', 'report_kb_id', v_document.path, 'kb_revision', v_document.revision,
      'invariants', '{"result_passes_and_is_signed": false}'::jsonb,
      'event', jsonb_build_object('gate', 'IG_write_verify', 'reason', 'verification failed', 'report_kb_id', v_document.path)),
    p_principal, 'fail_write_verify', 'verification failed', internal.artefact_digest(array[v_digest, v_document.digest]), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return orchestrator.report(p_run_id, jsonb_build_object('gate', 'IG_write_verify', 'invariants', '{"result_passes_and_is_signed": false}'::jsonb,
                                                          'kb_doc_id', v_document.path));
end
$$;
