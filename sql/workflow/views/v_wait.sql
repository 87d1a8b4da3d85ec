create or replace view workflow.v_wait with (security_barrier) as
select t.wait_id, t.run_kind, t.run_id, t.workflow_run_id, t.facet, t.subject_kind, t.subject_ref, t.until, t.token_sha256, t.cycle_no,
       t.attempt, t.issued_at, t.opened, t.resolved_at, t.resolved_by, t.proof, t.row_digest, t.digest_version
  from workflow.wait t;
comment on view workflow.v_wait is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
