create or replace view workflow.v_step_run_correction_cycle with (security_barrier) as
select t.run_id, t.cycle_no, t.run_kind, t.prior_state, t.prior_audit_id, t.prior_actor, t.prior_at, t.prior_key_id,
       t.original_output_snapshot_id, t.correction_reason, t.approval_id, t.reopened_by, t.reopened_at, t.completed_at, t.completion_actor_id,
       t.output_snapshot_id, t.row_digest, t.digest_version
  from workflow.step_run_correction_cycle t;
comment on view workflow.v_step_run_correction_cycle is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
