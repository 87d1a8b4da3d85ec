-- promise: the approved manifest is applied once: its units, the ledger of what was touched, the executor's signature over exactly
--          that, and the entry's move, in one transaction. A decision that was cut before is answered with its change set.
-- callers: cutter_exec (executor_dot991)
-- arrow: reviewed_approved → cut_applied (through cut_in_progress, which is never committed)
-- locks: the entry (update), its blockers (share), its decisions (update), the signer's chain (its turn), the document's prefix
--        (its turn), then see fsm.move
-- refuses with: RC001, RC007, RC009, RC010, RC011 an address is taken, RC012 the effect is not what was signed, RC021 it was cut
--               and taken back, RO010, RA030 the key of the decision was revoked, RI001–RI008, RI051, RS…
create or replace function cutter_governance.fn_cut(
  p_entry_id uuid, p_change_set_id uuid, p_review_decision_id uuid, p_change_set_digest bytea, p_tool_revision text, p_principal text,
  p_signature_id uuid, p_prior_signature_id uuid, p_key_id uuid, p_signed_at bigint, p_signature_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_entry cutter_governance.decision_backlog_entry;
  v_existing record;
  v_envelope cutter_governance.manifest_envelope;
begin
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.cutter.v1+json', p_signature_payload, p_signature);
  v_entry := cutter_governance.require_entry(p_entry_id);
  select c.change_set_id, c.executor_signature_id, c.affected_unit_count into v_existing
    from cutter_governance.cut_change_set c
   where c.decision_backlog_entry_id = p_entry_id and c.change_kind = 'apply'
     and c.review_decision_id = coalesce(p_review_decision_id, c.review_decision_id);
  if found then
    perform cutter_governance.require_standing_cut(p_entry_id, v_existing.change_set_id);
    return cutter_governance.entry_report(p_entry_id, '{"replayed": true}', jsonb_build_object(
      'change_set_id', v_existing.change_set_id, 'executor_signature_id', v_existing.executor_signature_id, 'units', v_existing.affected_unit_count));
  end if;
  perform orchestrator.require_free(p_entry_id, 'cut', null);
  if p_change_set_id is null or p_signature_id is null or p_tool_revision is null then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_signature_payload, 'stored', null)));
  end if;
  perform identity.require_signer(p_principal, 'executor_dot991', p_key_id, p_signed_at, p_signature);
  -- Asked before the work as well as after it: a missing approval or a stale chain should not cost ten thousand rows. Entries
  -- before chains: the cut of a blocker holds its entry and wants the chain, while this one would hold the chain and want the entry.
  perform cutter_governance.require_allowed(v_entry, 'cut_applied', 'executor_dot991', 'cut', p_principal,
    jsonb_build_object('review_decision_id', p_review_decision_id, 'change_set_id', p_change_set_id));
  perform cutter_governance.require_chain_end('DOT-991', p_principal, p_prior_signature_id);

  select m.* into strict v_envelope
    from cutter_governance.review_decision d join cutter_governance.manifest_envelope m on m.envelope_id = d.manifest_id
   where d.review_decision_id = p_review_decision_id;
  perform cutter_governance.create_units(p_change_set_id, v_envelope, v_entry.started_by, p_principal, p_tool_revision);
  return cutter_governance.record_cut(v_entry, p_change_set_id, p_review_decision_id, p_change_set_digest, p_tool_revision, p_principal, p_signature_id,
                                      p_prior_signature_id, p_key_id, p_signed_at, p_signature_payload, p_signature);
end
$$;
