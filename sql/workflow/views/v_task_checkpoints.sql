create or replace view workflow.v_task_checkpoints with (security_barrier) as
select t.run_id, t.checkpoint_no, t.run_kind, t.cycle_no, t.label, t.facts, t.principal, t.idempotency_key, t.reached_at
  from workflow.task_checkpoints t;
comment on view workflow.v_task_checkpoints is 'Raw columns, nothing rendered: for those who work with the row.';
