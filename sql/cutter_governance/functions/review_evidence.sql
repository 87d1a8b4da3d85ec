-- promise: what the log keeps of a review; the reviewer signs the same document with the move.
create or replace function cutter_governance.review_evidence(p_review_decision_id uuid, p_manifest_id uuid, p_manifest_digest bytea, p_verdict text) returns jsonb
language sql immutable
as $$
  select jsonb_build_object(
    'review_decision_id', p_review_decision_id, 'manifest_id', p_manifest_id, 'manifest_digest', encode(p_manifest_digest, 'hex'),
    'verdict', p_verdict, 'event', jsonb_build_object('review_decision_id', p_review_decision_id))
$$;
