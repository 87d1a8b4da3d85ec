-- promise: what a step or task gets to work with: its parameters with every path resolved, and the inputs of its run.
create or replace function workflow.input_of(p_work workflow.work, p_principal text, p_actor_class text) returns jsonb
language plpgsql stable
as $$
declare
  v_def workflow.work_def := workflow.def_of(p_work.run_kind, p_work.def_id);
  v_context jsonb := workflow.context(p_work.workflow_run_id, v_def.reads_outputs, jsonb_build_object('principal', p_principal, 'class', p_actor_class));
begin
  return jsonb_build_object('with', workflow.resolve_params(v_def.params, v_context), 'inputs', v_context -> 'inputs', 'outputs', v_context -> 'outputs',
                            'unit_version', p_work.pinned_iu_version_id);
end
$$;
