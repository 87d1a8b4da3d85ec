-- promise: the step or task has a later deadline, by a decision on record; one that was overdue is in progress again. That it was overdue
--          stays on record.
-- callers: chancery_app (pic_human, reviewer, escalation_handler)
-- arrow: overdue → in_progress (T6, by the system)
-- locks: the run of the workflow
-- refuses with: RW001, RW006, RW016 the time is not later than now and than the old one, RI001–RI004, RS012, RS013
create or replace function workflow.fn_work_extend(
  p_run_kind text, p_run_id uuid, p_deadline timestamptz, p_reason text, p_principal text, p_actor_class text, p_idempotency_key text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work;
  v_decision uuid;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  v_work := workflow.take(p_run_kind, p_run_id);
  if p_actor_class not in ('pic_human', 'reviewer', 'escalation_handler') then
    perform internal.refuse(internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class)));
  end if;
  v_decision := workflow.decide(v_work, 'deadline_extended', jsonb_build_object('deadline', internal.micros(p_deadline), 'reason', p_reason),
                                p_principal, p_actor_class, null, p_idempotency_key);
  if v_decision is null then
    return jsonb_build_object('run_id', p_run_id, 'deadline', v_work.deadline, 'state', v_work.state_code, 'replayed', true);
  end if;
  perform workflow.require_live_run(v_work);
  if p_deadline is null or p_deadline <= internal.now() or p_deadline <= v_work.deadline or internal.is_blank(p_reason)
     or v_work.state_code in ('completed', 'cancelled', 'cannot_complete') then
    perform internal.refuse(internal.problem('RW016', jsonb_build_object(
      'run_id', p_run_id, 'state', v_work.state_code, 'deadline', v_work.deadline, 'asked', p_deadline, 'reason', p_reason)));
  end if;
  v_work.deadline := p_deadline;
  if v_work.state_code = 'overdue' then
    perform workflow.act(v_work, 'in_progress', 'system', 'condition_resolved', 'deadline_extended',
                         jsonb_build_object('audit_ref', 'decision:' || v_decision, 'decision_id', v_decision), 'chancery', 'chancery:extend:' || v_decision);
  else
    perform workflow.recolour(v_work);
    if v_work.state_code <> 'not_started' then
      perform workflow.set_timer('deadline', p_deadline, v_work.run_kind, v_work.run_id, v_work.workflow_run_id);
    end if;
  end if;
  return (select jsonb_build_object('run_id', p_run_id, 'deadline', p_deadline, 'state', r.state_code, 'replayed', false) from fsm.run_peek(p_run_kind, p_run_id) r);
end
$$;
