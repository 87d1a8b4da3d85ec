create or replace view workflow.v_task_run with (security_barrier) as
select t.task_run_id, t.step_run_id, t.workflow_run_id, t.task_def_id, t.task_no, t.task_key, t.state_machine_id, t.state_code, t.facet, t.facet
       as waiting_facet, t.seq, t.head_hash, t.started_by, t.trace_id, t.correlation_id, t.created_at, t.last_transition_at, t.skipped, t.pic_id,
       t.executor_class_ref, t.pinned_iu_version_id, t.started_at, t.deadline, t.overdue_first_at, t.completed_at, t.completion_actor_id,
       t.completed_after_deadline, t.sla_breach_duration, case when t.state_code = 'blocked' then t.blocked_since end as blocked_since,
       case when t.state_code = 'blocked' then t.block_reason end as block_reason, t.block_escalated_at, t.failure_classification, t.failure_class, t.retry_count, t.retry_limit, t.cycle_no,
       t.output_snapshot_id, t.work_no, d.semantic_class, coalesce(d.floor_equivalent, t.state_code) as floor_state_code, case when t.state_code
       = 'failed' and t.failure_classification = 'transient' then t.retry_count || '/' || t.retry_limit - 1 end as retrying, workflow.is_past_deadline(t.state_code, t.deadline, (select internal.now())) as
       past_deadline, t.overdue_first_at is not null as was_late,
       t.state_code = 'cannot_complete' and exists (select from fsm.transition_log l where l.run_id = t.task_run_id and l.seq = t.seq and l.trigger_ref = 'escalate') as escalated,
       case when t.state_code in ('failed', 'cannot_complete') then (
         select l.evidence::jsonb ->> 'detail' from fsm.transition_log l where l.run_id = t.task_run_id and l.trigger_ref = 'executor_failure' order by l.seq desc limit 1)
       end as failure_detail
  from workflow.task_run t join fsm.state_def d using (state_machine_id, state_code);
comment on view workflow.v_task_run is 'Each with its place on the floor of nine states, for who knows no others; retrying, escalated and severity are shown, not states. past_deadline is a matter of now, was_late of whenever.';
