-- promise: a stopped run is back in the state it was stopped in, by the sovereign's word about exactly this stop. What the database is
--          now is what its next gate expects.
-- callers: cutter_exec (executor_dot991)
-- arrow: stopped_… → the state before
-- locks: the run (update), its approvals (its turn)
-- refuses with: RO001, RO004, RO005 it is not stopped, RA002, RA003, RA006, RA020, RI001–RI004, RS…
create or replace function orchestrator.fn_orchestrate_resume(p_run_id uuid, p_evidence jsonb, p_document text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_to text;
  v_key text;
  v_gate text;
  v_document record;
  v_report jsonb;
begin
  v_run := orchestrator.require_run(p_run_id);
  v_key := 'resume:' || (p_evidence ->> 'approval_id');
  if exists (select from fsm.transition_log l where l.run_id = p_run_id and l.idempotency_key = v_key) then
    return orchestrator.report(p_run_id, '{"replayed": true}');
  end if;
  if not starts_with(v_run.state_code, 'stopped_') then
    perform internal.refuse(internal.problem('RO005', jsonb_build_object(
      'run_id', v_run.run_name, 'state', v_run.state_code, 'gate', 'resume', 'actor_class', 'executor_dot991')));
  end if;
  v_gate := case v_run.state_code when 'stopped_drift' then 'SG_drift_ack' else 'SG_resume_stopped' end;
  perform orchestrator.require_authorized(v_run, v_gate, p_evidence, p_principal);
  v_to := (select l.from_state from fsm.transition_log l where l.run_id = p_run_id order by l.seq desc limit 1);
  v_document := orchestrator.put_document(v_run, 'resumed-' || v_run.seq + 1, 'receipt', p_document, p_principal, 'executor_dot991');
  v_report := fsm.move(
    p_run_id, 'orchestrator_run', v_run.state_code, v_to, 'executor_dot991', 'rpc', 'orchestrate_resume',
    p_evidence || jsonb_build_object(
      'resumes_to', v_to, 'gate', v_gate, 'kb_doc_id', v_document.path, 'kb_revision', v_document.revision,
      'pins', case v_gate when 'SG_drift_ack' then jsonb_build_object('survey', orchestrator.settled_survey(v_run, v_to)) else '{}' end,
      'event', jsonb_build_object('kb_doc_id', v_document.path, 'approval_kb_id', p_evidence -> 'approval_kb_id')),
    p_principal, v_key, null, internal.artefact_digest(array[orchestrator.approval_digest(p_evidence), v_document.digest]), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return orchestrator.report(p_run_id, jsonb_build_object('kb_doc_id', v_document.path));
end
$$;
