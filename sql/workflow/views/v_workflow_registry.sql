create or replace view workflow.v_workflow_registry with (security_barrier) as
select t.workflow, t.current_version, t.current_def_id, t.changed_at
  from workflow.workflow_registry t;
comment on view workflow.v_workflow_registry is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
