-- promise: the move of a pending event, made or refused. An error of the database is one more problem: one row cannot stop the others.
-- callers: event.fn_event_pending_retry
create or replace function event.repeat_move(p_pending event.event_pending) returns jsonb
language plpgsql
as $$
declare
  v_report jsonb;
begin
  v_report := fsm.move(
    p_pending.subject_id, p_pending.subject_kind, null, p_pending.to_state, p_pending.actor_class, p_pending.trigger_kind, p_pending.trigger_ref,
    p_pending.evidence, p_pending.principal, p_pending.idempotency_key, null, null, null, null);
  if v_report -> 'ok' = 'true' then
    return jsonb_build_object('event_id', (
      select l.log_id from fsm.transition_log l where l.run_id = p_pending.subject_id and l.seq = (v_report ->> 'seq')::bigint));
  end if;
  return jsonb_build_object('problems', v_report -> 'problems');
exception when others then
  return jsonb_build_object('problems', jsonb_build_array(jsonb_build_object('code', sqlstate, 'problem', 'error')));
end
$$;
