-- promise: an event that cannot be emitted now is kept, as the move that would emit it, and will be tried again. The same move is
--          kept once. Problems with its payload are returned: what may not stand in an event may not wait here either.
-- callers: doors of the rooms whose work must not be undone by an event that fails
create or replace function event.capture_pending(
  p_event_type text, p_subject_kind text, p_subject_id uuid, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
  p_evidence jsonb, p_idempotency_key text, p_why text, p_principal text
) returns jsonb
language plpgsql
as $$
declare
  v_problems jsonb := fsm.request_problems(p_subject_kind, p_evidence, p_idempotency_key, p_principal);
  v_denied jsonb;
  v_id uuid;
begin
  if v_problems is null then
    v_denied := event.denied_keys(p_evidence);
    v_problems := nullif(event.payload_problems(p_event_type, coalesce(p_evidence -> 'event', '{}')), '[]');
    if v_problems is null and v_denied is not null then
      v_problems := internal.problem('RE002', jsonb_build_object('event_type', p_event_type, 'breaks', jsonb_build_array(
        jsonb_build_object('rule', 'denied_keys', 'keys', v_denied))));
    end if;
  end if;
  if v_problems is not null then
    return jsonb_build_object('ok', false, 'problems', v_problems);
  end if;
  insert into event.event_pending (
    pending_id, event_type, subject_kind, subject_id, to_state, actor_class, trigger_kind, trigger_ref, principal, evidence, idempotency_key,
    reason, state, attempts, next_attempt_at, captured_at)
  values (
    internal.uuid_v7(), p_event_type, p_subject_kind, p_subject_id, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_principal, p_evidence,
    p_idempotency_key, p_why, 'pending', 0, internal.now(), internal.now())
  on conflict on constraint pending_one_a_move do nothing
  returning pending_id into v_id;
  return jsonb_build_object('ok', true, 'captured', v_id is not null, 'problems', '[]'::jsonb, 'pending_id', coalesce(
    v_id, (select p.pending_id from event.event_pending p where p.subject_id = p_subject_id and p.idempotency_key = p_idempotency_key)));
end
$$;
