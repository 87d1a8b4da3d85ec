create or replace view workflow.v_task_comments with (security_barrier) as
select t.run_id, t.comment_no, t.run_kind, t.principal, t.body, t.idempotency_key, t.written_at
  from workflow.task_comments t;
comment on view workflow.v_task_comments is 'Raw columns, nothing rendered: for those who work with the row.';
