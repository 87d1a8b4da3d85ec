-- promise: the run of the sub-workflow that a step stands for is under way, and so is the step.
create or replace function workflow.start_sub_run(p_work workflow.work, p_def workflow.workflow_step_def) returns void
language plpgsql
as $$
declare
  v_version workflow.workflow_version;
  v_id constant uuid := internal.derived_uuid(p_work.run_id, 'sub_run');
  v_inputs jsonb;
  v_work workflow.work;
begin
  select v.* into strict v_version from workflow.workflow_version v where v.workflow_def_id = p_def.sub_workflow_def_id;
  v_inputs := coalesce(workflow.resolve_params(p_def.params, workflow.context(p_work.workflow_run_id, p_def.reads_outputs, null)) -> 'inputs', '{}');
  perform workflow.make_run(v_id, v_version, v_inputs, p_work.run_id, p_work.started_by,
                            jsonb_build_object('parent_step_run_id', p_work.run_id), 'chancery', 'mow_orchestrator', 'chancery:create', p_work.trace_id, p_work.correlation_id, null, null);
  v_work := workflow.take('step', p_work.run_id);
  v_work.started_at := internal.now();
  perform workflow.act(v_work, 'in_progress', 'mow_orchestrator', 'event', 'sub_workflow_rollup',
                       jsonb_build_object('audit_ref', 'workflow_run:' || v_id, 'sub_run', v_id, 'to', 'in_progress'), 'chancery', 'chancery:bridge:' || v_work.seq);
end
$$;
