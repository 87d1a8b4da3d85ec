-- promise: every unit of the run is enacted under the decision that the sovereign made for it, all or none, and the run says so.
-- callers: cutter_exec (executor_dot991)
-- arrow: awaiting_lifecycle_authorization → lifecycle_enacted
-- locks: the run (update), its approvals (its turn), the units (update) and the decision (share)
-- refuses with: RO001–RO005, RA002, RA003, RA006, RI001–RI004, RI027, RI028, RI030, RS…
create or replace function orchestrator.fn_lifecycle_enact(p_run_id uuid, p_evidence jsonb, p_document text, p_tool_revision text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
  v_decision_id uuid := internal.derived_uuid(p_run_id, 'lifecycle_decision');
  v_change_set_id uuid := internal.derived_uuid(p_run_id, 'change_set');
  v_unit record;
  v_digests bytea[];
begin
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, 'SG_lifecycle_authz_received');
  if v_before is not null then
    return v_before;
  end if;
  perform orchestrator.require_no_drift(v_run);
  perform orchestrator.require_authorized(v_run, 'SG_lifecycle_authz', p_evidence, p_principal);
  perform cutter_governance.require_entry(v_run.entry_id);
  for v_unit in
    select b.proposed_canonical_address as address from cutter_governance.manifest_unit_block b
     where b.envelope_id = internal.derived_uuid(p_run_id, 'manifest') order by b.render_order
  loop
    perform iu.fn_iu_enact(v_unit.address, p_principal, v_decision_id, 'enacted', v_change_set_id, 'orchestrated enactment', p_tool_revision);
  end loop;
  select array_agg(l.row_digest order by b.render_order) into v_digests
    from cutter_governance.manifest_unit_block b
    join iu.iu_lifecycle_log l on l.unit_id = internal.derived_uuid(v_change_set_id, 'unit,' || b.unit_local_id) and l.change_kind = 'enacted'
   where b.envelope_id = internal.derived_uuid(p_run_id, 'manifest');
  return orchestrator.pass(
    v_run, 'SG_lifecycle_authz_received', p_evidence || jsonb_build_object('review_decision_id', v_decision_id), p_document, p_principal, 'executor_dot991',
    v_digests || (select d.row_digest from cutter_governance.review_decision d where d.review_decision_id = v_decision_id)
              || orchestrator.approval_digest(p_evidence));
end
$$;
