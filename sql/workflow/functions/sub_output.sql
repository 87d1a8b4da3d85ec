-- promise: the output of a step that stands for a sub-workflow: that run, and the outputs of its steps that nothing comes after.
create or replace function workflow.sub_output(p_step_run_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object('workflow_run_id', r.workflow_run_id, 'outputs', workflow.last_outputs(r.workflow_run_id))
    from workflow.workflow_run r where r.parent_step_run_id = p_step_run_id
$$;
