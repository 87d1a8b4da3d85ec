create or replace view cutter_governance.v_verify_result with (security_barrier) as
select t.verify_result_id, t.change_set_id, t.manifest_id, t.manifest_version, t.review_decision_id,
       t.executor_signature_id, t.verifier_signature_id, t.executor_tool_revision, t.verifier_tool_revision,
       t.tool_revision_match, t.verify_kind, t.axis_1_status, t.axis_2_status, t.verdict, t.state, t.canonicalization_rule_used, t.findings,
       t.rollback_change_set_id_triggered, t.escalation_ref, t.prior_verify_result_id, t.verify_digest, t.verified_by,
       t.verified_at, t.row_digest, t.digest_version
  from cutter_governance.verify_result t;
comment on view cutter_governance.v_verify_result is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
