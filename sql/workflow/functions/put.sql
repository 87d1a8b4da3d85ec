-- promise: the facts of a step or task are as given. Its state is the engine's and is not touched; what stood once is not taken back
--          (trigger first_ending_stays).
-- locks: the row; the caller holds the run
create or replace function workflow.put(p_work workflow.work) returns void
language plpgsql
as $$
begin
  if p_work.run_kind = 'step' then
    update workflow.step_run s
       set skipped = p_work.skipped, pic_id = p_work.pic_id, pinned_iu_version_id = p_work.pinned_iu_version_id, started_at = p_work.started_at,
           deadline = p_work.deadline, overdue_first_at = p_work.overdue_first_at, completed_at = p_work.completed_at,
           completion_actor_id = p_work.completion_actor_id, completed_after_deadline = p_work.completed_after_deadline,
           sla_breach_duration = p_work.sla_breach_duration, blocked_since = p_work.blocked_since, block_reason = p_work.block_reason,
           block_escalated_at = p_work.block_escalated_at, failure_classification = p_work.failure_classification, failure_class = p_work.failure_class,
           retry_count = p_work.retry_count, cycle_no = p_work.cycle_no, output_snapshot_id = p_work.output_snapshot_id, work_no = p_work.work_no,
           event_facts = p_work.event_facts || jsonb_build_object('seq', p_work.seq), awaits_precondition = false, rollup_class = p_work.rollup_class,
           decisive_rank = case p_work.rollup_class when 'red' then 1 when 'yellow' then 2 end
     where s.step_run_id = p_work.run_id;
  else
    update workflow.task_run t
       set skipped = p_work.skipped, pic_id = p_work.pic_id, pinned_iu_version_id = p_work.pinned_iu_version_id, started_at = p_work.started_at,
           deadline = p_work.deadline, overdue_first_at = p_work.overdue_first_at, completed_at = p_work.completed_at,
           completion_actor_id = p_work.completion_actor_id, completed_after_deadline = p_work.completed_after_deadline,
           sla_breach_duration = p_work.sla_breach_duration, blocked_since = p_work.blocked_since, block_reason = p_work.block_reason,
           block_escalated_at = p_work.block_escalated_at, failure_classification = p_work.failure_classification, failure_class = p_work.failure_class,
           retry_count = p_work.retry_count, cycle_no = p_work.cycle_no, output_snapshot_id = p_work.output_snapshot_id, work_no = p_work.work_no,
           event_facts = p_work.event_facts || jsonb_build_object('seq', p_work.seq)
     where t.task_run_id = p_work.run_id;
  end if;
end
$$;
