create or replace view cutter_governance.v_cut_change_set with (security_barrier) as
select t.change_set_id, t.change_kind, t.decision_backlog_entry_id, t.manifest_id, t.manifest_version,
       t.review_decision_id, t.executor_signature_id, t.verifier_signature_id, t.rollback_key,
       t.rollback_of_change_set_id, t.rollback_reason, t.state, t.affected_unit_count, t.writer_digest, t.effect_digest,
       t.change_set_digest, t.payload_summary, t.executor_tool_revision, t.verifier_tool_revision, t.emitted_by,
       t.emitted_at, t.row_digest, t.digest_version
  from cutter_governance.cut_change_set t;
comment on view cutter_governance.v_cut_change_set is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
