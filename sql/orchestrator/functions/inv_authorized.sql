-- owner: chancery_guard
-- promise: the sovereign signed for exactly this, and the decision that was asked for is there, of the right kind, and holds.
create or replace function orchestrator.inv_authorized(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb, p_gate text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'approval_authorizes_exactly_this', orchestrator.authorization_problems(
      p_run.run_id, p_gate, internal.uuid_or_null(p_evidence ->> 'approval_id'), p_evidence ->> 'approval_kb_id') = '[]',
    'decision_is_the_sovereigns', exists (
      select from cutter_governance.review_decision d
        join kb.revision_signature s on s.path = p_evidence ->> 'approval_kb_id' and s.meaning = p_gate and s.signer = d.reviewer_identity
       where d.review_decision_id = internal.derived_uuid(p_run.run_id, case p_gate when 'SG_cut_authz' then 'cut_decision' else 'lifecycle_decision' end)
         and d.entry_id = p_run.entry_id and d.verdict = 'approve' and d.superseded_by_review_decision_id is null
         and d.governance_event_kind = case p_gate when 'SG_cut_authz' then 'cut_review' else 'lifecycle_enactment' end
         and d.manifest_version = p_pins ->> 'manifest_digest'))
$$;
