-- promise: where a run stands, in a few facts.
create or replace function workflow.report(p_workflow_run_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object('workflow_run_id', r.workflow_run_id, 'workflow', r.workflow, 'version', v.version, 'state', r.state_code, 'seq', r.seq,
                            'rollup', r.rollup_state_code, 'frozen_at', r.frozen_at, 'mandatory', r.mandatory_count, 'completed', r.completed_count,
                            'decisive_step_run_id', r.decisive_step_run_id, 'trace_id', r.trace_id)
    from workflow.workflow_run r join workflow.workflow_version v using (workflow_def_id) where r.workflow_run_id = p_workflow_run_id
$$;
