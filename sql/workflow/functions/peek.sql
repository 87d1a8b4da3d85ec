-- promise: a step or task as it is now, in one shape for both; nothing is locked. What its next event says is not said yet.
create or replace function workflow.peek(p_run_kind text, p_run_id uuid) returns workflow.work
language plpgsql stable
as $$
declare
  v_work workflow.work;
begin
  if p_run_kind = 'step' then
    select 'step', s.step_run_id, s.workflow_run_id, s.step_run_id, s.step_def_id, s.step_key, s.mandatory, s.state_code, s.seq, s.cycle_no, s.skipped, s.pic_id,
           s.executor_class_ref, s.pinned_iu_version_id, s.started_at, s.deadline, s.overdue_first_at, s.completed_at, s.completion_actor_id,
           s.completed_after_deadline, s.sla_breach_duration, s.blocked_since, s.block_reason, s.block_escalated_at, s.failure_classification, s.failure_class,
           s.retry_count, s.retry_limit, s.output_snapshot_id, s.work_no, null, s.on_critical_path, s.rollup_class, s.started_by, s.trace_id, s.correlation_id
      into v_work from workflow.step_run s where s.step_run_id = p_run_id;
  elsif p_run_kind = 'task' then
    select 'task', t.task_run_id, t.workflow_run_id, t.step_run_id, t.task_def_id, t.task_key, true, t.state_code, t.seq, t.cycle_no, t.skipped, t.pic_id,
           t.executor_class_ref, t.pinned_iu_version_id, t.started_at, t.deadline, t.overdue_first_at, t.completed_at, t.completion_actor_id,
           t.completed_after_deadline, t.sla_breach_duration, t.blocked_since, t.block_reason, t.block_escalated_at, t.failure_classification, t.failure_class,
           t.retry_count, t.retry_limit, t.output_snapshot_id, t.work_no, null, false, 'none', t.started_by, t.trace_id, t.correlation_id
      into v_work from workflow.task_run t where t.task_run_id = p_run_id;
  end if;
  return v_work;
end
$$;
