-- owner: chancery_guard
-- promise: the manifest of this entry has a decision that approves it and is not superseded, made by somebody else than who cuts, with a key
--          that was not revoked since
create or replace function cutter_governance.guard_cut_approved(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from cutter_governance.review_decision d
      join cutter_governance.manifest_envelope m on m.envelope_id = d.manifest_id
     where d.review_decision_id = internal.uuid_or_null(p_context #>> '{evidence,review_decision_id}')
       and d.entry_id = (p_context #>> '{run,id}')::uuid and m.entry_id = d.entry_id
       and d.governance_event_kind = 'cut_review' and d.verdict = 'approve' and d.superseded_by_review_decision_id is null
       and d.reviewer_identity <> p_context #>> '{actor,principal}'
       and cutter_governance.revoked_decision(d.review_decision_id) is null)
$$;
