create or replace view iu.v_iu_lifecycle_log with (security_barrier) as
select t.lifecycle_log_id, t.unit_id, t.seq, t.change_kind, t.from_lifecycle, t.to_lifecycle, t.unit_version_id,
       t.unit_digest, t.version_digest, t.review_decision_id, t.change_set_id, t.edit_draft_id, t.actor, t.reason,
       t.tool_revision, t.at, t.prev_digest, t.row_digest, t.digest_version
  from iu.iu_lifecycle_log t;
comment on view iu.v_iu_lifecycle_log is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
