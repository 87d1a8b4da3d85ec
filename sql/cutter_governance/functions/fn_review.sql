-- promise: the manifest, the signed decision on it and the entry's move stand together or not at all. A decision that says again
--          what the newest one says changes nothing; another one supersedes it.
--          The same verdict with other words is refused: it would change nothing and lose them.
-- callers: cutter_review (review_authority)
-- arrow: review_pending → reviewed_approved | reviewed_deferred | reviewed_rejected; reviewed_approved → reviewed_deferred
-- locks: the entry (update), its decisions (update)
-- refuses with: RC001, RC005, RC006, RC007, RC008 a stale prior decision, RC010, RC017 no such verdict, RC023 it stands with other words, RO010, RI001–RI008, RI051, RS…
create or replace function cutter_governance.fn_review(
  p_entry_id uuid, p_verdict text, p_manifest jsonb, p_manifest_digest bytea, p_envelope_id uuid, p_review_decision_id uuid,
  p_prior_review_decision_id uuid, p_findings jsonb, p_rationale text, p_risk text, p_tool_revision text, p_principal text,
  p_idempotency_key text, p_key_id uuid, p_signed_at bigint, p_decision_payload text, p_decision_signature bytea, p_move_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_entry cutter_governance.decision_backlog_entry;
  v_head record;
  v_to text := case p_verdict when 'approve' then 'reviewed_approved' when 'defer' then 'reviewed_deferred' when 'reject' then 'reviewed_rejected' end;
  v_differs text[];
  v_digests bytea[];
  v_report jsonb;
  v_key_id constant uuid := case when p_move_signature is not null then p_key_id end;
  v_evidence jsonb;
  v_verified bytea;
begin
  if v_to is null or p_risk is null or p_risk not in ('low', 'medium', 'high') or jsonb_typeof(p_findings) is distinct from 'object' then
    perform internal.refuse(internal.problem('RC017', jsonb_build_object('verdict', p_verdict, 'risk', p_risk)));
  end if;
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.review.v1+json', p_decision_payload, p_decision_signature);
  v_evidence := cutter_governance.review_evidence(p_review_decision_id, p_envelope_id, p_manifest_digest, p_verdict);
  v_verified := fsm.require_move_signature('cut_request', p_entry_id, v_to, 'review_authority', 'rpc', 'review', v_evidence, p_principal, p_idempotency_key,
                                           p_rationale, v_key_id, p_move_signature);
  v_entry := cutter_governance.require_entry(p_entry_id);
  perform cutter_governance.lock_review_decision('cut_request', p_entry_id);
  select d.review_decision_id, d.verdict, m.manifest_digest, d.manifest_id, d.verdict_rationale, d.risk_class_assessment, d.findings::jsonb as findings into v_head
    from cutter_governance.review_decision d join cutter_governance.manifest_envelope m on m.envelope_id = d.manifest_id
   where d.entry_id = p_entry_id and d.governance_event_kind = 'cut_review' and d.superseded_by_review_decision_id is null;
  if v_head.verdict = p_verdict and v_head.manifest_digest = p_manifest_digest and v_entry.status <> 'review_pending' then
    -- A repetition changes nothing, so it must not say anything else: what the reviewer wrote would be lost. The least risk, no words and no
    -- findings are what a caller sends who says nothing.
    v_differs := array_remove(array[
      case when nullif(btrim(p_rationale), '') is distinct from nullif(btrim(v_head.verdict_rationale), '') and nullif(btrim(p_rationale), '') is not null then 'rationale' end,
      case when p_risk <> v_head.risk_class_assessment and p_risk <> 'low' then 'risk' end,
      case when p_findings <> v_head.findings and p_findings <> '{}' then 'findings' end], null);
    if v_differs <> '{}' then
      perform internal.refuse(internal.problem('RC023', jsonb_build_object(
        'entry_id', p_entry_id, 'review_decision_id', v_head.review_decision_id, 'verdict', v_head.verdict, 'status', v_entry.status,
        'differs_in', to_jsonb(v_differs), 'stands', jsonb_build_object(
          'rationale', v_head.verdict_rationale, 'risk', v_head.risk_class_assessment, 'findings', v_head.findings))));
    end if;
    return cutter_governance.entry_report(p_entry_id, '{"replayed": true}', jsonb_build_object(
      'review_decision_id', v_head.review_decision_id, 'manifest_id', v_head.manifest_id, 'verdict', p_verdict));
  end if;
  if p_manifest_digest is null or p_envelope_id is null or p_review_decision_id is null or p_tool_revision is null then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_decision_payload, 'stored', null)));
  end if;
  perform orchestrator.require_free(p_entry_id, 'review', p_review_decision_id);
  perform identity.require_signer(p_principal, 'review_authority', p_key_id, p_signed_at, p_decision_signature);
  if v_head.review_decision_id is distinct from p_prior_review_decision_id then
    perform internal.refuse(internal.problem('RC008', jsonb_build_object(
      'entry_id', p_entry_id, 'prior', p_prior_review_decision_id, 'newest', v_head.review_decision_id)));
  end if;

  v_digests := cutter_governance.write_manifest(
    v_entry, p_manifest, p_envelope_id, p_manifest_digest,
    case p_verdict when 'approve' then 'accepted' when 'reject' then 'rejected' else 'under_review' end, p_principal, p_rationale, p_tool_revision);
  v_digests := v_digests || cutter_governance.write_decision(
    p_review_decision_id, 'cut_review', p_entry_id, p_envelope_id, p_manifest_digest, p_verdict, p_findings, p_rationale, p_risk,
    p_prior_review_decision_id, true, p_principal, p_key_id, p_signed_at, p_decision_payload, p_decision_signature);
  v_report := fsm.move(
    p_entry_id, 'cut_request', null, v_to, 'review_authority', 'rpc', 'review',
    v_evidence, p_principal, p_idempotency_key, p_rationale, internal.artefact_digest(v_digests), v_key_id, p_move_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return cutter_governance.entry_report(p_entry_id, v_report, jsonb_build_object(
    'review_decision_id', p_review_decision_id, 'manifest_id', p_envelope_id, 'verdict', p_verdict));
end
$$;
