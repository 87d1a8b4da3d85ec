-- promise: the canonical text that a reviewer signs: which verdict on which manifest, in whose name, after which decision, when.
create or replace function cutter_governance.decision_payload(
  p_review_decision_id uuid, p_governance_event_kind text, p_entry_id uuid, p_manifest_id uuid, p_manifest_digest bytea, p_verdict text,
  p_findings jsonb, p_rationale text, p_risk text, p_prior_review_decision_id uuid, p_principal text, p_key_id uuid, p_signed_at bigint
) returns text
language sql immutable
as $$
  select internal.canonical_json(jsonb_build_object(
    'domain', 'chancery.review.v1', 'meaning', p_governance_event_kind || ' ' || p_verdict, 'review_decision_id', p_review_decision_id,
    'governance_event_kind', p_governance_event_kind, 'entry_id', p_entry_id, 'manifest_id', p_manifest_id,
    'manifest_digest', encode(p_manifest_digest, 'hex'), 'verdict', p_verdict, 'findings', p_findings, 'rationale', p_rationale, 'risk', p_risk,
    'prior_review_decision_id', p_prior_review_decision_id, 'principal', p_principal, 'key_id', p_key_id, 'signed_at', p_signed_at))
$$;
