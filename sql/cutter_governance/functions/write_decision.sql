-- promise: the signed decision stands, and the one before it is stamped superseded. Gives the new row's digest.
-- refuses with: RC007 what was signed is not what would be stored
create or replace function cutter_governance.write_decision(
  p_review_decision_id uuid, p_governance_event_kind text, p_entry_id uuid, p_manifest_id uuid, p_manifest_digest bytea, p_verdict text,
  p_findings jsonb, p_rationale text, p_risk text, p_prior_review_decision_id uuid, p_supersedes boolean, p_principal text, p_key_id uuid,
  p_signed_at bigint, p_payload text, p_signature bytea
) returns bytea
language plpgsql
as $$
declare
  v_payload text := cutter_governance.decision_payload(
    p_review_decision_id, p_governance_event_kind, p_entry_id, p_manifest_id, p_manifest_digest, p_verdict, p_findings, p_rationale, p_risk,
    p_prior_review_decision_id, p_principal, p_key_id, p_signed_at);
  v_digest bytea;
begin
  if v_payload is distinct from p_payload then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_payload, 'stored', v_payload)));
  end if;
  insert into cutter_governance.review_decision (
    review_decision_id, governance_event_kind, entry_id, manifest_id, manifest_version, review_scope, status, verdict, findings, reviewer_class,
    reviewer_identity, risk_class_assessment, verdict_rationale, prior_review_decision_id, key_id, decision_payload, signature, decision_at, created_at)
  values (
    p_review_decision_id, p_governance_event_kind, p_entry_id, p_manifest_id, encode(p_manifest_digest, 'hex'), 'whole_manifest', 'decided', p_verdict,
    internal.canonical_json(p_findings), 'review_authority', p_principal, p_risk, p_rationale, p_prior_review_decision_id, p_key_id, p_payload,
    p_signature, internal.from_micros(p_signed_at), internal.now())
  returning row_digest into v_digest;
  if p_supersedes then
    update cutter_governance.review_decision d set superseded_by_review_decision_id = p_review_decision_id
     where d.review_decision_id = p_prior_review_decision_id and d.superseded_by_review_decision_id is null;
  end if;
  return v_digest;
end
$$;
