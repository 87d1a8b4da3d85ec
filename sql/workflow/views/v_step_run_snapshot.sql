create or replace view workflow.v_step_run_snapshot with (security_barrier) as
select t.snapshot_id, t.run_kind, t.run_id, t.snapshot_kind, t.cycle_no, t.attempt, t.document, t.document_sha256, t.taken_at, t.row_digest, t.digest_version
  from workflow.step_run_snapshot t;
comment on view workflow.v_step_run_snapshot is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
