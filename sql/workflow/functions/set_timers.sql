-- promise: the timers of a step or task are those that its state asks for: its deadline while it is open, the threshold of a block.
create or replace function workflow.set_timers(p_work workflow.work, p_state text, p_call text) returns void
language plpgsql
as $$
begin
  if p_state in ('completed', 'cancelled', 'cannot_complete') then
    delete from workflow.timer t where t.run_id = p_work.run_id;
    return;
  end if;
  -- Who takes up late work again knows that it is late: the same deadline does not ring at once.
  if p_work.deadline is not null and p_state in ('ready', 'in_progress') and p_call not in ('step_reengage', 'task_reengage') then
    perform workflow.set_timer('deadline', p_work.deadline, p_work.run_kind, p_work.run_id, p_work.workflow_run_id);
  end if;
  if p_state = 'blocked' then
    perform workflow.set_timer('block_threshold', p_work.blocked_since + workflow.class_limit('block_severity.threshold_seconds', r.workflow_class),
                               p_work.run_kind, p_work.run_id, p_work.workflow_run_id)
      from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id;
  elsif p_work.state_code = 'blocked' then
    delete from workflow.timer t where t.run_id = p_work.run_id and t.timer_kind = 'block_threshold';
  end if;
end
$$;
