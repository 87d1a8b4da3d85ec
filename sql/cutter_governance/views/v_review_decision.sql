create or replace view cutter_governance.v_review_decision with (security_barrier) as
select t.review_decision_id, t.governance_event_kind, t.entry_id, t.manifest_id, t.manifest_unit_local_id,
       t.manifest_version, t.review_scope, t.status, t.verdict, t.findings, t.reviewer_class, t.reviewer_identity,
       t.risk_class_assessment, t.verdict_rationale, t.prior_review_decision_id, t.superseded_by_review_decision_id,
       t.key_id, t.decision_payload, t.signature, t.decision_at, t.created_at, t.row_digest, t.digest_version
  from cutter_governance.review_decision t;
comment on view cutter_governance.v_review_decision is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
