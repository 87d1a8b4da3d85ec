-- promise: the document that the conditions of a run are asked of: {inputs, outputs, run, actor}. Of the outputs it has those that are
--          named and known: a long run costs no more than a short one.
create or replace function workflow.context(p_workflow_run_id uuid, p_reads_outputs text[], p_actor jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'inputs', r.inputs::jsonb,
    'outputs', case when p_reads_outputs = '{}' then '{}' else coalesce((
      select jsonb_object_agg(s.step_key, o.document::jsonb)
        from workflow.step_run s left join workflow.step_run_snapshot o on o.snapshot_id = s.output_snapshot_id
       where s.workflow_run_id = p_workflow_run_id and s.step_key = any (p_reads_outputs)
         -- One that ended without an output has none: null. One that goes on may still have one: that is not known.
         and (o.snapshot_id is not null or s.skipped or s.state_code in ('completed', 'cancelled'))), '{}') end,
    'run', jsonb_build_object('id', r.workflow_run_id, 'workflow', r.workflow, 'started_by', r.started_by),
    'actor', coalesce(p_actor, 'null'))
    from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id
$$;
