create or replace view workflow.v_workflow_task_def with (security_barrier) as
select t.task_def_id, t.step_def_id, t.task_no, t.task_key, t.name_en, t.name_vi, t.executor_class, t.pic_rule, t.precondition, t.postcondition,
       t.output_contract, t.deadline, t.retry_policy, t.params, t.reads_outputs
  from workflow.workflow_task_def t;
comment on view workflow.v_workflow_task_def is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
