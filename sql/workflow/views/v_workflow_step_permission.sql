create or replace view workflow.v_workflow_step_permission with (security_barrier) as
select t.step_def_id, t.actor_class
  from workflow.workflow_step_permission t;
comment on view workflow.v_workflow_step_permission is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
