-- promise: the run's request is marked and before its reviewers, and the run is past IG_mark, in one transaction.
-- callers: cutter_exec (executor_dot991)
-- arrow: source_pinned → marked; the request: ∅ → marked → review_pending
-- locks: the run (update), then see cutter_governance.mark_entry and cutter_governance.sweep
-- refuses with: RO001, RO002, RO003, RO005, RC002, RC015, RI001–RI004, RS…
create or replace function orchestrator.fn_orchestrate_mark(p_run_id uuid, p_payload jsonb, p_evidence jsonb, p_document text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
begin
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, 'IG_mark');
  if v_before is not null then
    return v_before;
  end if;
  perform orchestrator.require_no_drift(v_run);
  perform cutter_governance.mark_entry(v_run.entry_id, 'cut_request', p_payload, null, v_run.run_name, 'executor_dot991', 'mark', p_principal, null,
                                       v_run.trace_id, null, null);
  perform cutter_governance.sweep(internal.derived_uuid(p_run_id, 'sweep'), 'executor_dot991', p_principal, 'manual', 1, v_run.entry_id);
  return orchestrator.pass(
    v_run, 'IG_mark', p_evidence, p_document, p_principal, 'executor_dot991',
    array[(select e.row_digest from cutter_governance.decision_backlog_entry e where e.entry_id = v_run.entry_id)]);
end
$$;
