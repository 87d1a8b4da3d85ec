-- promise: the schema that the output of a step or task has to fit; null where there is none.
create or replace function workflow.contract_of(p_run_kind text, p_run_id uuid) returns jsonb
language sql stable
as $$
  select d.output_contract from workflow.step_run s join workflow.workflow_step_def d using (step_def_id) where p_run_kind = 'step' and s.step_run_id = p_run_id
  union all
  select d.output_contract from workflow.task_run t join workflow.workflow_task_def d using (task_def_id) where p_run_kind = 'task' and t.task_run_id = p_run_id
$$;
