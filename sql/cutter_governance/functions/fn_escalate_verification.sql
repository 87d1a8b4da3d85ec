-- promise: an entry asks for somebody to look at a cut that could not be verified: the verifier tried as often as the settings allow. Asked
--          again, it is the same entry. The cut stays as it is and can still be verified.
-- callers: cutter_verify (verifier_dot992)
-- arrow: ∅ → marked (an escalation)
-- locks: see fsm.move; not the entry's own row, which may be what is held
-- refuses with: RC001, RC019 the cut does not wait for a verdict, RI001–RI004, RS…
create or replace function cutter_governance.fn_escalate_verification(p_entry_id uuid, p_reason text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_entry record;
begin
  perform identity.require_actor(p_principal, 'verifier_dot992');
  select e.status, e.payload::jsonb as payload, e.scenario_ref, e.trace_id into v_entry
    from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id;
  if not found then
    perform internal.refuse(internal.problem('RC001', jsonb_build_object('entry_id', p_entry_id)));
  end if;
  if v_entry.status <> 'cut_applied' then
    perform internal.refuse(internal.problem('RC019', jsonb_build_object('entry_id', p_entry_id, 'status', v_entry.status)));
  end if;
  return cutter_governance.mark_entry(
    internal.derived_uuid(p_entry_id, 'verification_given_up'), 'escalation',
    jsonb_build_object(
      'idempotency_key', 'escalation:verify:' || p_entry_id, 'signal_source', 'verify', 'iu_ref', v_entry.payload -> 'iu_ref',
      'escalation_of', p_entry_id, 'proposed_cut_spec', v_entry.payload -> 'proposed_cut_spec'),
    null, v_entry.scenario_ref, 'verifier_dot992', 'escalate', p_principal, coalesce(nullif(btrim(left(p_reason, 2000)), ''), 'verification given up'), v_entry.trace_id, null, null);
end
$$;
