-- promise: one move of a step or task with all that belongs to it, in the caller's transaction: its facts, the move with log row and
--          event, the roll-up of its run, its timers, and what the loop has to do next. Refuses as the engine does.
-- callers: doors and the loop, which took the work (and with it the lock of its run) and changed its facts
-- locks: the run of the workflow, held by the caller; then the row
create or replace function workflow.act(
  p_work workflow.work, p_to text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text,
  p_idempotency_key text, p_reason text default null, p_artefacts bytea[] default null, p_key_id uuid default null, p_signature bytea default null,
  p_verified bytea default null
) returns jsonb
language plpgsql
as $$
declare
  v_was_class constant text := p_work.rollup_class;
  v_was_state constant text := p_work.state_code;
  -- Keys of people stand in the same list: none of them may be in the way of what the loop has to do.
  v_key constant text := p_idempotency_key || case when p_actor_class in ('system', 'mow_orchestrator') then '/' || internal.uuid_v7() else '' end;
  v_report jsonb;
begin
  p_work.rollup_class := workflow.rollup_class(p_work, p_to);
  perform workflow.put(p_work);
  v_report := fsm.move(
    p_work.run_id, p_work.run_kind, v_was_state, p_to, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, v_key, p_reason,
    case when p_artefacts is not null then internal.artefact_digest(p_artefacts) end, p_key_id, p_signature, p_verified => p_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  if v_was_state = 'blocked' and p_to <> 'blocked' then
    -- Why something was blocked belongs to that block, and stands in its log. On the row it would be shown as if it held, and answer for
    -- the next one. Since when it was blocked last stays.
    p_work.block_reason := null;
    p_work.block_escalated_at := null;
    perform workflow.put(p_work);
  end if;
  if p_work.run_kind = 'step' then
    perform workflow.rollup_apply(
      p_work.workflow_run_id, v_was_class, p_work.rollup_class,
      (p_trigger_ref = 'branch_not_taken')::int,
      - (p_trigger_ref = 'branch_not_taken' and not p_work.mandatory)::int,
      - (p_trigger_ref = 'branch_not_taken' and p_work.mandatory)::int,
      case when p_work.mandatory then (p_to = 'completed')::int - (v_was_state = 'completed')::int else 0 end);
    if p_to in ('completed', 'cancelled') or p_trigger_ref = 'branch_not_taken' then
      insert into workflow.agenda (workflow_run_id, cause, run_id) values (p_work.workflow_run_id, 'decided', p_work.run_id);
      -- A sub-workflow may have ended with what its step's postcondition could not yet be asked of.
      insert into workflow.agenda (workflow_run_id, cause, run_id)
      select s.workflow_run_id, 'bridge', s.step_run_id
        from workflow.step_run s join workflow.workflow_run r on r.parent_step_run_id = s.step_run_id
       where s.workflow_run_id = p_work.workflow_run_id and s.executor_class_ref = 'sub_workflow' and s.state_code in ('waiting', 'failed')
         and s.step_run_id <> p_work.run_id and r.state_code = 'completed';
    elsif p_work.executor_class_ref = 'sub_workflow' and p_to = 'in_progress' and p_trigger_ref <> 'sub_workflow_rollup' then
      -- Somebody freed or reopened it: where its sub-workflow stands by now counts again.
      perform workflow.tell_parent(p_work.run_id);
    end if;
    if p_to = 'completed' then
      -- What it gives now is new.
      update workflow.step_run s set stale_since = null where s.step_run_id = p_work.run_id and s.stale_since is not null;
    end if;
    if v_was_state = 'completed' then
      -- What is opened again is unfinished again.
      perform workflow.want_critical_path(p_work.workflow_run_id);
    end if;
  elsif p_to = 'completed' then
    -- A step that follows a sub-workflow may have waited for this task alone.
    insert into workflow.agenda (workflow_run_id, cause, run_id)
    select s.workflow_run_id, 'bridge', s.step_run_id from workflow.step_run s where s.step_run_id = p_work.step_run_id and s.executor_class_ref = 'sub_workflow';
  end if;
  perform workflow.set_timers(p_work, p_to, p_trigger_ref);
  if p_work.run_kind = 'task' and p_to = 'completed' then
    perform workflow.go_on_after_tasks(p_work.step_run_id);
  end if;
  return v_report;
end
$$;
