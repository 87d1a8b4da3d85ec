-- promise: the first ending of the work, and how late it was, stands on its row for ever; the ending of a correction on its cycle.
create or replace function workflow.note_ending(p_work workflow.work, p_principal text) returns workflow.work
language plpgsql
as $$
declare
  -- When it ended is when its output was kept, which the log's digest is over.
  v_now constant timestamptz := (select o.taken_at from workflow.step_run_snapshot o where o.snapshot_id = p_work.output_snapshot_id);
begin
  -- What was declared impossible and reopened ends its correction, and ends for the first time as well.
  update workflow.step_run_correction_cycle c
     set completed_at = v_now, completion_actor_id = p_principal, output_snapshot_id = p_work.output_snapshot_id
   where c.run_id = p_work.run_id and c.cycle_no = p_work.cycle_no and c.completed_at is null;
  if p_work.completed_at is not null then
    return p_work;
  end if;
  p_work.completed_at := v_now;
  p_work.completion_actor_id := p_principal;
  -- What the clock declared overdue is late, also when it ends in the same microsecond.
  if p_work.deadline < v_now or p_work.state_code = 'overdue' then
    p_work.completed_after_deadline := true;
    p_work.overdue_first_at := coalesce(p_work.overdue_first_at, v_now);
    p_work.sla_breach_duration := v_now - p_work.deadline;
    p_work.event_facts := jsonb_build_object(
      'completed_after_deadline', true, 'overdue_first_at', p_work.overdue_first_at, 'sla_breach_duration', p_work.sla_breach_duration);
  end if;
  return p_work;
end
$$;
