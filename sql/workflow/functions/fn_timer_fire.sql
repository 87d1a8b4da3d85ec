-- promise: what is to happen when this timer rings has happened, once, whoever else fires it; a timer that was moved or is gone does nothing.
-- callers: chancery_app (system), the timer loop of any replica
-- arrow: in_progress → overdue (T5), waiting → in_progress (T3r), proposals: review → approved, rejected or draft
-- locks: the run of the workflow or the proposal, then the timer
-- refuses with: RI001–RI004, RS…
create or replace function workflow.fn_timer_fire(p_timer_id uuid, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_timer workflow.timer;
  v_work workflow.work;
  v_done text := 'nothing';
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  select t.* into v_timer from workflow.timer t where t.timer_id = p_timer_id;
  if v_timer.run_kind in ('step', 'task') then
    v_work := workflow.take(v_timer.run_kind, v_timer.run_id);
  elsif v_timer.run_kind is not null then
    perform fsm.run_lock(v_timer.run_kind, v_timer.run_id);
  end if;
  -- Locked after the run, and read again: it may have been set anew meanwhile.
  select t.* into v_timer from workflow.timer t where t.timer_id = p_timer_id and t.due_at <= internal.now() for update;
  if not found then
    return jsonb_build_object('fired', false);
  end if;
  delete from workflow.timer t where t.timer_id = p_timer_id;
  if v_timer.timer_kind = 'approval_expiry' and v_work.run_id is not null then
    perform workflow.resolve_approvals(v_work.run_id);
    v_done := 'decision';
  elsif v_timer.timer_kind = 'approval_expiry' then
    v_done := workflow.settle_review(v_timer.run_kind, v_timer.run_id);
  elsif v_timer.timer_kind = 'time_gate' then
    perform workflow.resolve_wait(w.wait_id, jsonb_build_object('until', w.until, 'now', internal.now()), 'chancery')
      from workflow.wait w where w.run_id = v_work.run_id and w.facet = 'waiting_time_gate' and w.resolved_at is null and w.until <= internal.now();
    perform workflow.set_timer('time_gate', min(w.until), v_work.run_kind, v_work.run_id, v_work.workflow_run_id)
      from workflow.wait w where w.run_id = v_work.run_id and w.facet = 'waiting_time_gate' and w.resolved_at is null having count(*) > 0;
    if workflow.resume_if_resolved(v_work.run_kind, v_work.run_id) then
      v_done := 'resumed';
    end if;
  elsif v_timer.timer_kind = 'block_threshold' then
    perform workflow.recolour(v_work);
    v_done := 'severity';
  elsif v_work.state_code = 'in_progress' and v_work.executor_class_ref <> 'sub_workflow' then
    v_work.overdue_first_at := coalesce(v_work.overdue_first_at, internal.now());
    perform workflow.act(v_work, 'overdue', 'system', 'timer', 'deadline_passed', jsonb_build_object(
      'timer', p_timer_id, 'overdue_first_at', internal.micros(v_work.overdue_first_at)), 'chancery', 'overdue:' || v_work.seq);
    v_done := 'overdue';
  elsif v_work.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'failed') then
    -- The state stays; that the deadline passed does too, and it counts against a block. So it is with a step that stands for a
    -- sub-workflow: it follows that run and nothing else.
    v_work.overdue_first_at := coalesce(v_work.overdue_first_at, internal.now());
    perform workflow.recolour(v_work);
    v_done := 'breach';
  end if;
  return jsonb_build_object('fired', true, 'kind', v_timer.timer_kind, 'run_kind', v_timer.run_kind, 'run_id', v_timer.run_id, 'done', v_done);
end
$$;
