create or replace view workflow.v_workflow_run with (security_barrier) as
select t.workflow_run_id, t.workflow_def_id, t.workflow, t.workflow_class, t.inputs, t.parent_step_run_id, t.state_machine_id, t.state_code,
       t.facet, t.seq, t.head_hash, t.started_by, t.trace_id, t.correlation_id, t.created_at, t.last_transition_at, t.rollup_state_code,
       t.red_count, t.yellow_count, t.green_count, t.skipped_count, t.optional_excluded_count, t.mandatory_count, t.completed_count,
       t.decisive_step_run_id, t.decisive_state_code, t.last_rollup_at, t.frozen_at, t.critical_due, t.row_digest, t.digest_version
  from workflow.workflow_run t;
comment on view workflow.v_workflow_run is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
