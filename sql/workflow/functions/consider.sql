-- promise: a step whose turn it is becomes ready when its precondition holds, one that no way leads to any more is skipped; any other
--          stays as it is.
-- callers: the loop, with the run locked
create or replace function workflow.consider(p_step_run_id uuid) returns void
language plpgsql
as $$
declare
  v_step workflow.step_run;
  v_def workflow.workflow_step_def;
  v_work workflow.work;
  v_way text;
begin
  select s.* into v_step from workflow.step_run s where s.step_run_id = p_step_run_id;
  if v_step.state_code <> 'not_started' or v_step.skipped then
    return;
  end if;
  select d.* into v_def from workflow.workflow_step_def d where d.step_def_id = v_step.step_def_id;
  v_way := workflow.way_here(v_step, v_def.joins_and, v_def.joins_or, v_def.joins_plain);
  if v_way = 'wait' then
    return;
  end if;
  v_work := workflow.take('step', p_step_run_id);
  if v_way = 'skip' then
    v_work.skipped := true;
    perform workflow.act(v_work, 'not_started', 'mow_orchestrator', 'condition_resolved', 'branch_not_taken', '{}', 'chancery', 'chancery:skip');
    return;
  end if;
  if not workflow.precondition_holds(v_work) then
    update workflow.step_run s set awaits_precondition = true where s.step_run_id = p_step_run_id and not s.awaits_precondition;
    return;
  end if;
  v_work.pic_id := workflow.pic_of(v_work);
  v_work.deadline := internal.now() + v_def.deadline;
  perform workflow.act(v_work, 'ready', 'mow_orchestrator', 'condition_resolved', 'precondition_resolved', '{}', 'chancery', 'chancery:ready');
  if v_def.has_tasks then
    perform workflow.make_tasks(v_work);
  end if;
  if v_def.sub_workflow_def_id is not null then
    perform workflow.start_sub_run(v_work, v_def);
  else
    perform workflow.make_job('step', p_step_run_id);
  end if;
end
$$;
