-- promise: the request is given up for good, by the sovereign, with a reason; what a cut made and nobody verified is taken back.
-- callers: chancery_app (sovereign)
-- arrow: any → abandoned
-- locks: the entry (update), its units when they are taken back, then see fsm.move
-- refuses with: RC001, RO010, RI001–RI008, RI051, RS…
create or replace function cutter_governance.fn_abandon(
  p_entry_id uuid, p_reason text, p_audit_ref text, p_principal text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_entry cutter_governance.decision_backlog_entry;
  v_set cutter_governance.cut_change_set;
  v_rollback_id uuid;
  v_digest bytea;
  v_report jsonb;
  v_evidence constant jsonb := jsonb_build_object('reason', p_reason, 'audit_ref', p_audit_ref, 'event', jsonb_build_object('reason', p_reason));
  v_verified constant bytea := fsm.require_move_signature('cut_request', p_entry_id, 'abandoned', 'sovereign', 'rpc', 'abandon', v_evidence, p_principal,
                                                          p_idempotency_key, p_reason, p_key_id, p_signature);
begin
  v_entry := cutter_governance.require_entry(p_entry_id);
  perform orchestrator.require_free(p_entry_id, 'abandon', null);
  -- A repeated request is about the same artefacts, although they are no longer made.
  select l.artefact_digest into v_digest from fsm.transition_log l where l.run_id = p_entry_id and l.idempotency_key = p_idempotency_key;
  if v_entry.status = 'cut_applied' then
    select c.* into strict v_set from cutter_governance.cut_change_set c where c.decision_backlog_entry_id = p_entry_id and c.change_kind = 'apply';
    v_rollback_id := internal.derived_uuid(v_set.change_set_id, 'abandoned');
    v_digest := internal.artefact_digest(cutter_governance.compensate(v_set, v_rollback_id, p_principal, 'abandoned', 'none'));
  end if;
  v_report := fsm.move(
    p_entry_id, 'cut_request', null, 'abandoned', 'sovereign', 'rpc', 'abandon',
    v_evidence, p_principal, p_idempotency_key, p_reason, v_digest, p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return cutter_governance.entry_report(p_entry_id, v_report, jsonb_build_object('rollback_change_set_id', v_rollback_id));
end
$$;
