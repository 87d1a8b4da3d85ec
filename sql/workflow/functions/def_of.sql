-- promise: what the definition says about a step or task, in one shape for both.
create or replace function workflow.def_of(p_run_kind text, p_def_id uuid) returns workflow.work_def
language plpgsql stable
as $$
declare
  v_def workflow.work_def;
begin
  if p_run_kind = 'step' then
    select d.executor_class, d.sub_workflow_def_id, d.pic_rule, d.precondition, d.postcondition, d.output_contract, d.deadline, d.retry_policy, d.params,
           d.reads_outputs, d.unit_address, d.has_tasks, d.optional
      into v_def from workflow.workflow_step_def d where d.step_def_id = p_def_id;
  else
    select d.executor_class, null, d.pic_rule, d.precondition, d.postcondition, d.output_contract, d.deadline, d.retry_policy, d.params,
           d.reads_outputs, null, false, false
      into v_def from workflow.workflow_task_def d where d.task_def_id = p_def_id;
  end if;
  return v_def;
end
$$;
