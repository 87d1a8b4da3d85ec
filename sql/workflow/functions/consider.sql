-- promise: a step whose turn it is becomes ready when its precondition holds and it is known which of its tasks are to be done, one that no
--          way leads to any more is skipped; any other stays as it is. What cannot be answered is asked again after each new output.
-- callers: the loop, with the run locked
create or replace function workflow.consider(p_step_run_id uuid) returns void
language plpgsql
as $$
declare
  v_step workflow.step_run;
  v_def workflow.workflow_step_def;
  v_work workflow.work;
  v_way text;
  v_holds boolean;
  v_task record;
  v_run workflow.workflow_run;
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
    perform workflow.act(v_work, 'not_started', 'mow_orchestrator', 'condition_resolved', 'branch_not_taken', '{}', 'chancery', 'skip');
    return;
  end if;
  v_holds := workflow.precondition_holds(v_work);
  if v_holds is null or v_holds and v_def.has_tasks then
    select * into v_task from workflow.unanswered_task(v_step.workflow_run_id, v_step.step_def_id);
    if v_holds is null or v_task.task_key is not null then
      select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = v_step.workflow_run_id;
      if v_holds is null then
        perform workflow.note_unanswered(v_run, v_step.step_key, 'precondition', v_def.precondition, v_def.reads_outputs);
      else
        perform workflow.note_unanswered(v_run, v_step.step_key, 'precondition of task ' || v_task.task_key, v_task.precondition, v_task.reads_outputs);
        v_holds := null;
      end if;
    end if;
  end if;
  if v_holds is not true then
    update workflow.step_run s set awaits_precondition = true where s.step_run_id = p_step_run_id and not s.awaits_precondition;
    return;
  end if;
  if v_step.awaits_precondition then
    perform governance.issue_close('condition_unanswered', 'workflow_run', v_step.workflow_run_id::text, 'resolved', 'it was answered', 'chancery')
      where not exists (select from workflow.agenda a where a.workflow_run_id = v_step.workflow_run_id and a.cause = 'unanswered');
  end if;
  v_work.pic_id := workflow.pic_of(v_work);
  -- A later deadline that somebody gave it before its turn stands. How late it may be is in the log from the beginning: what a breach is measured by.
  v_work.deadline := greatest(v_work.deadline, internal.now() + v_def.deadline);
  perform workflow.act(v_work, 'ready', 'mow_orchestrator', 'condition_resolved', 'precondition_resolved',
                       jsonb_strip_nulls(jsonb_build_object('deadline', internal.micros(v_work.deadline))), 'chancery', 'ready');
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
