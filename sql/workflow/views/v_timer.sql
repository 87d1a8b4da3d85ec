create or replace view workflow.v_timer with (security_barrier) as
select t.timer_id, t.due_at, t.timer_kind, t.run_kind, t.run_id, t.workflow_run_id, t.tries
  from workflow.timer t;
comment on view workflow.v_timer is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
