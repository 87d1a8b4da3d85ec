-- promise: the outputs of the steps that nothing comes after: what a sub-workflow gives to the step that stands for it.
create or replace function workflow.last_outputs(p_workflow_run_id uuid) returns jsonb
language sql stable
as $$
  select coalesce(jsonb_object_agg(s.step_key, o.document::jsonb), '{}')
    from workflow.workflow_run r
    join workflow.step_run s on s.workflow_run_id = r.workflow_run_id
    join workflow.step_run_snapshot o on o.snapshot_id = s.output_snapshot_id
   where r.workflow_run_id = p_workflow_run_id
     and not exists (select from workflow.workflow_step_relations w where w.workflow_def_id = r.workflow_def_id and w.from_no = s.step_no)
$$;
