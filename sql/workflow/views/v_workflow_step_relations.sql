create or replace view workflow.v_workflow_step_relations with (security_barrier) as
select t.workflow_def_id, t.relation_no, t.from_no, t.to_no, t.relation_kind, t.condition, t.reads_outputs, t.label_en, t.label_vi
  from workflow.workflow_step_relations t;
comment on view workflow.v_workflow_step_relations is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
