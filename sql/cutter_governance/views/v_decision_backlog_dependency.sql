create or replace view cutter_governance.v_decision_backlog_dependency with (security_barrier) as
select t.dependency_id, t.from_entry_id, t.to_entry_id, t.dependency_kind, t.created_by, t.created_at, t.row_digest, t.digest_version
  from cutter_governance.decision_backlog_dependency t;
comment on view cutter_governance.v_decision_backlog_dependency is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
