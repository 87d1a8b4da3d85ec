-- owner: chancery_guard
-- promise: every invariant of a gate, by name, as it stands now. The guards of the machine ask this, and so does whoever wants to see why.
create or replace function orchestrator.gate_invariants(p_gate text, p_run_id uuid, p_evidence jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_pins jsonb := orchestrator.pins(p_run_id);
begin
  select r.* into v_run from orchestrator.run r where r.run_id = p_run_id;
  return case p_gate
    when 'IG_source_pin' then orchestrator.inv_source_pin(v_run, v_pins, p_evidence)
    when 'IG_mark' then orchestrator.inv_mark(v_run, v_pins, p_evidence)
    when 'IG_cutplan' then orchestrator.inv_cutplan(v_run, v_pins, p_evidence)
    when 'IG_backup' then orchestrator.inv_backup(v_run, v_pins, p_evidence)
    when 'IG_grant_probe' then orchestrator.inv_grant_probe(v_run, v_pins, p_evidence)
    when 'SG_cut_authz_request' then orchestrator.inv_request(v_run, v_pins, p_evidence, 'SG_cut_authz')
    when 'SG_cut_authz_received' then orchestrator.inv_authorized(v_run, v_pins, p_evidence, 'SG_cut_authz')
    when 'IG_cut_leg_a_execute' then orchestrator.inv_cut_leg_a(v_run, v_pins, p_evidence)
    when 'IG_structural_verify' then orchestrator.inv_structural_verify(v_run, v_pins, p_evidence)
    when 'IG_leg_b_record' then orchestrator.inv_leg_b_record(v_run, v_pins, p_evidence)
    when 'IG_write_verify' then orchestrator.inv_write_verify(v_run, v_pins, p_evidence)
    when 'SG_lifecycle_authz_request' then orchestrator.inv_request(v_run, v_pins, p_evidence, 'SG_lifecycle_authz')
    when 'SG_lifecycle_authz_received' then orchestrator.inv_authorized(v_run, v_pins, p_evidence, 'SG_lifecycle_authz')
    when 'IG_lifecycle_enact_execute' then orchestrator.inv_lifecycle_enact(v_run, v_pins, p_evidence)
    when 'IG_closeout' then orchestrator.inv_closeout(v_run, v_pins, p_evidence)
    else '{}' end;
end
$$;
