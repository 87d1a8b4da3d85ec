create or replace view workflow.v_logged_task with (security_barrier) as
select t.task_run_id, t.step_run_id, t.workflow_run_id, t.task_def_id, t.task_no, t.task_key, t.state_machine_id, t.state_code, t.facet, t.seq, t.head_hash, t.started_by, t.trace_id,
       t.correlation_id, t.created_at, t.last_transition_at, t.skipped, t.executor_class_ref, t.started_at, t.deadline, t.overdue_first_at, t.completed_at,
       t.completion_actor_id, t.completed_after_deadline, t.sla_breach_duration, t.retry_count, t.cycle_no, t.output_snapshot_id
  from workflow.task_run t;
comment on view workflow.v_logged_task is 'What the log and the definition say about a task, raw, for the audit: read by key, with nothing computed.';
