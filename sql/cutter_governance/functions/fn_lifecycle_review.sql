-- promise: a signed decision of its own on enacting the units of a verified cut. It cites the cut's manifest and decision and moves
--          nothing; fn_iu_enact asks for it. A later one cites the one before and supersedes it. The same id gives the first answer
--          again.
-- callers: cutter_review (review_authority)
-- locks: the entry (update)
-- refuses with: RC001, RC007, RC008 the newest decision is another one, RC010, RC015 the id stands for another decision, RC017, RC018 the cut
--               is not verified, RO010, RI001–RI008, RI051
create or replace function cutter_governance.fn_lifecycle_review(
  p_entry_id uuid, p_verdict text, p_review_decision_id uuid, p_prior_review_decision_id uuid, p_findings jsonb, p_rationale text, p_risk text,
  p_principal text, p_key_id uuid, p_signed_at bigint, p_decision_payload text, p_decision_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_entry cutter_governance.decision_backlog_entry;
  v_cut record;
  v_existing cutter_governance.review_decision;
  v_newest uuid;
begin
  if p_verdict is null or p_verdict not in ('approve', 'reject') or p_risk is null or p_risk not in ('low', 'medium', 'high')
     or jsonb_typeof(p_findings) is distinct from 'object' then
    perform internal.refuse(internal.problem('RC017', jsonb_build_object('verdict', p_verdict, 'risk', p_risk)));
  end if;
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.review.v1+json', p_decision_payload, p_decision_signature);
  v_entry := cutter_governance.require_entry(p_entry_id);
  select d.* into v_existing from cutter_governance.review_decision d where d.review_decision_id = p_review_decision_id;
  if found then
    if v_existing.decision_payload <> p_decision_payload then
      perform internal.refuse(internal.problem('RC015', jsonb_build_object(
        'review_decision_id', p_review_decision_id, 'entry_id', v_existing.entry_id, 'verdict', v_existing.verdict, 'decided_by', v_existing.reviewer_identity,
        'way', 'chancery cutter show ' || v_existing.entry_id)));
    end if;
    return cutter_governance.entry_report(p_entry_id, '{"replayed": true}', jsonb_build_object('review_decision_id', p_review_decision_id));
  end if;
  perform orchestrator.require_free(p_entry_id, 'lifecycle_review', p_review_decision_id);
  perform identity.require_signer(p_principal, 'review_authority', p_key_id, p_signed_at, p_decision_signature);
  if v_entry.status <> 'verified_complete' or v_entry.started_by = p_principal then
    perform internal.refuse(internal.problem('RC018', jsonb_build_object(
      'entry_id', p_entry_id, 'status', v_entry.status, 'marked_by', v_entry.started_by, 'reviewer', p_principal)));
  end if;
  select c.manifest_id, c.review_decision_id, m.manifest_digest into strict v_cut
    from cutter_governance.cut_change_set c join cutter_governance.manifest_envelope m on m.envelope_id = c.manifest_id
   where c.decision_backlog_entry_id = p_entry_id and c.change_kind = 'apply';
  v_newest := (select d.review_decision_id from cutter_governance.review_decision d
                where d.entry_id = p_entry_id and d.governance_event_kind = 'lifecycle_enactment' and d.superseded_by_review_decision_id is null);
  if coalesce(v_newest, v_cut.review_decision_id) is distinct from p_prior_review_decision_id then
    perform internal.refuse(internal.problem('RC008', jsonb_build_object(
      'entry_id', p_entry_id, 'prior', p_prior_review_decision_id, 'newest', coalesce(v_newest, v_cut.review_decision_id))));
  end if;
  perform cutter_governance.write_decision(
    p_review_decision_id, 'lifecycle_enactment', p_entry_id, v_cut.manifest_id, v_cut.manifest_digest, p_verdict, p_findings, p_rationale, p_risk,
    p_prior_review_decision_id, v_newest is not null, p_principal, p_key_id, p_signed_at, p_decision_payload, p_decision_signature);
  return cutter_governance.entry_report(p_entry_id, '{}', jsonb_build_object('review_decision_id', p_review_decision_id));
end
$$;
