-- promise: why a decision does not allow a unit to be enacted, as facts; null when it does: it is about enactment, approves, is
--          not superseded, and the unit was made by a verified cut of its manifest and not edited since.
create or replace function iu.enact_problem(p_unit_id uuid, p_review_decision_id uuid, p_target_lifecycle text) returns jsonb
language plpgsql stable
as $$
declare
  v_decision record;
begin
  if p_target_lifecycle is distinct from 'enacted' then
    return jsonb_build_object('reason', 'target_unknown', 'target', p_target_lifecycle);
  end if;
  select d.verdict, d.governance_event_kind, d.superseded_by_review_decision_id, d.manifest_id, e.status into v_decision
    from cutter_governance.review_decision d join cutter_governance.decision_backlog_entry e using (entry_id)
   where d.review_decision_id = p_review_decision_id;
  if not found then
    return jsonb_build_object('reason', 'decision_unknown', 'review_decision_id', p_review_decision_id);
  elsif v_decision.governance_event_kind <> 'lifecycle_enactment' or v_decision.verdict <> 'approve'
        or v_decision.superseded_by_review_decision_id is not null then
    return jsonb_build_object('reason', 'decision_does_not_allow', 'kind', v_decision.governance_event_kind, 'verdict', v_decision.verdict,
                              'superseded_by', v_decision.superseded_by_review_decision_id);
  elsif v_decision.status <> 'verified_complete' then
    return jsonb_build_object('reason', 'cut_not_verified', 'status', v_decision.status);
  elsif not exists (
      select from cutter_governance.cut_change_set c join cutter_governance.cut_change_set_affected_row a using (change_set_id)
       where c.manifest_id = v_decision.manifest_id and c.change_kind = 'apply' and a.target_row_id = p_unit_id) then
    return '{"reason": "unit_not_in_manifest"}';
  elsif exists (select from iu.iu_lifecycle_log l where l.unit_id = p_unit_id and l.change_kind <> 'created') then
    return '{"reason": "unit_changed_since"}';
  end if;
  return null;
end
$$;
