-- promise: the run is past a gate whose phase wrote nothing but its receipt. A gate that was passed before gives the first answer.
-- callers: cutter_exec (executor_dot991)
-- arrow: one state forward
-- locks: the run (update)
-- refuses with: RO001, RO002, RO003 drift, RO005, RA020, RI001–RI004, RS…
create or replace function orchestrator.fn_orchestrate_gate(p_run_id uuid, p_gate text, p_evidence jsonb, p_document text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
begin
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, p_gate);
  if v_before is not null then
    return v_before;
  end if;
  -- The others write; each has a door of its own.
  if p_gate is null or p_gate not in ('IG_source_pin', 'IG_cutplan', 'IG_backup', 'IG_grant_probe', 'SG_cut_authz_request', 'IG_structural_verify',
                                      'SG_lifecycle_authz_request') then
    perform internal.refuse(internal.problem('RO005', jsonb_build_object(
      'run_id', v_run.run_name, 'state', v_run.state_code, 'gate', p_gate, 'actor_class', 'executor_dot991')));
  end if;
  perform orchestrator.require_no_drift(v_run);
  return orchestrator.pass(v_run, p_gate, p_evidence, p_document, p_principal, 'executor_dot991', '{}');
end
$$;
