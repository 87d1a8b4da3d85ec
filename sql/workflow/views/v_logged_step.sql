create or replace view workflow.v_logged_step with (security_barrier) as
select t.step_run_id, t.workflow_run_id, t.step_def_id, t.step_no, t.step_key, t.mandatory, t.state_machine_id, t.state_code, t.facet, t.seq, t.head_hash, t.started_by, t.trace_id,
       t.correlation_id, t.created_at, t.last_transition_at, t.and_open, t.or_open, t.plain_open, t.or_taken, t.plain_taken, t.and_missed,
       t.skipped, t.executor_class_ref, t.started_at, t.deadline, t.overdue_first_at, t.completed_at,
       t.completion_actor_id, t.completed_after_deadline, t.sla_breach_duration, t.retry_count, t.cycle_no, t.output_snapshot_id, t.rollup_class, t.decisive_rank
  from workflow.step_run t;
comment on view workflow.v_logged_step is 'What the log and the definition say about a step, raw, for the audit: read by key, with nothing computed.';
