create or replace view workflow.v_relation_outcome with (security_barrier) as
select t.workflow_run_id, t.relation_no, t.taken, t.decided_at
  from workflow.relation_outcome t;
comment on view workflow.v_relation_outcome is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
