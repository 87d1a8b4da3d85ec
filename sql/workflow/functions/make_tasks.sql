-- promise: the tasks of a step that has become ready exist; each is ready too, or skipped where its condition does not hold in this run.
create or replace function workflow.make_tasks(p_step workflow.work) returns void
language plpgsql
as $$
declare
  v_machine record;
  v_def record;
  v_id uuid;
  v_now constant timestamptz := internal.now();
  v_work workflow.work;
  v_report jsonb;
begin
  select m.state_machine_id, m.initial_state into strict v_machine from fsm.state_machine_def m where m.scope = 'task' and m.active;
  for v_def in
    select d.*, p.max_attempts from workflow.workflow_task_def d join queue.retry_policy_registry p on p.policy = d.retry_policy
     where d.step_def_id = p_step.def_id order by d.task_no
  loop
    v_id := internal.derived_uuid(p_step.run_id, v_def.task_key);
    insert into workflow.task_run (
      task_run_id, step_run_id, workflow_run_id, task_def_id, task_no, task_key, state_machine_id, state_code, seq, started_by, trace_id, correlation_id, created_at,
      last_transition_at, executor_class_ref, retry_limit)
    values (v_id, p_step.run_id, p_step.workflow_run_id, v_def.task_def_id, v_def.task_no, v_def.task_key, v_machine.state_machine_id, v_machine.initial_state, 0,
            p_step.started_by, p_step.trace_id, p_step.correlation_id, v_now, v_now, v_def.executor_class, v_def.max_attempts);
    v_report := fsm.move(v_id, 'task', null, v_machine.initial_state, 'mow_orchestrator', 'condition_resolved', 'run_created', '{}', 'chancery', 'birth', null, null, null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
    v_work := workflow.take('task', v_id);
    if workflow.precondition_holds(v_work) then
      v_work.pic_id := workflow.pic_of(v_work);
      v_work.deadline := v_now + v_def.deadline;
      perform workflow.act(v_work, 'ready', 'mow_orchestrator', 'condition_resolved', 'precondition_resolved', '{}', 'chancery', 'chancery:ready');
      perform workflow.make_job('task', v_id);
    else
      v_work.skipped := true;
      perform workflow.act(v_work, 'not_started', 'mow_orchestrator', 'condition_resolved', 'branch_not_taken', '{}', 'chancery', 'chancery:skip');
    end if;
  end loop;
end
$$;
