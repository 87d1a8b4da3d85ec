create or replace view cutter_governance.v_decision_backlog_sweep_log with (security_barrier) as
select t.sweep_id, t.sweep_seq, t.swept_by, t.sweep_trigger_kind, t.swept_at, t.batch_limit, t.scanned_count,
       t.created_count, t.promoted_count, t.report_summary, t.prev_digest, t.row_digest, t.digest_version
  from cutter_governance.decision_backlog_sweep_log t;
comment on view cutter_governance.v_decision_backlog_sweep_log is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
