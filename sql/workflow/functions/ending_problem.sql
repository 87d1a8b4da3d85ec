-- promise: why what a sub-workflow gives does not complete the step that stands for it, or null: {why: output_contract, breaks} where it breaks the
--          step's contract, {why: postcondition} where that does not hold, {why: unanswered} where it cannot be answered.
-- callers: workflow.bridge_target, workflow.follow_sub_run
create or replace function workflow.ending_problem(p_step_run_id uuid) returns jsonb
language plpgsql stable
as $$
declare
  v_work workflow.work := workflow.peek('step', p_step_run_id);
  v_def workflow.work_def := workflow.def_of('step', v_work.def_id);
  v_output jsonb;
  v_breaks jsonb;
  v_holds boolean;
begin
  if v_def.output_contract is null and v_def.postcondition is null then
    return null;
  end if;
  v_output := workflow.sub_output(p_step_run_id);
  if v_def.output_contract is not null then
    v_breaks := event.value_problems(v_def.output_contract, v_output);
    if v_breaks <> '[]' then
      return jsonb_build_object('why', 'output_contract', 'breaks', v_breaks);
    end if;
  end if;
  v_holds := workflow.holds(v_def.postcondition, workflow.context(v_work.workflow_run_id, v_def.reads_outputs,
    '{"principal": "chancery", "kind": "service", "class": "mow_orchestrator"}') || jsonb_build_object('output', v_output));
  return case when v_holds then null when v_holds is null then '{"why": "unanswered"}' else '{"why": "postcondition"}' end::jsonb;
end
$$;
