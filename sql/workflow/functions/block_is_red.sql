-- promise: whether a block counts as red: it lasts longer than its class of workflow bears, stands on the critical path, is past its
--          deadline, or somebody escalated it. The state stays blocked whatever this says.
create or replace function workflow.block_is_red(p_work workflow.work, p_workflow_class text) returns boolean
language sql stable
as $$
  select p_work.on_critical_path or p_work.block_escalated_at is not null or coalesce(p_work.deadline <= internal.now(), false)
         or p_work.blocked_since <= internal.now() - workflow.class_limit('block_severity.threshold_seconds', p_workflow_class)
$$;
