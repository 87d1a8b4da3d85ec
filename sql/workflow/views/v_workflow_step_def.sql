create or replace view workflow.v_workflow_step_def with (security_barrier) as
select t.step_def_id, t.workflow_def_id, t.step_no, t.step_key, t.name_en, t.name_vi, t.optional, t.milestone, t.executor_class,
       t.sub_workflow_def_id, t.pic_rule, t.precondition, t.postcondition, t.output_contract, t.deadline, t.retry_policy, t.params,
       t.reads_outputs, t.lane, t.category, t.unit_address, t.joins_and, t.joins_or, t.joins_plain, t.has_tasks
  from workflow.workflow_step_def t;
comment on view workflow.v_workflow_step_def is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
