-- promise: for a key that the run's log knows, the first answer again when the same was asked for, a refusal when something else was;
--          null for a new key. Asked before a door changes anything.
-- refuses with: RS012
create or replace function workflow.replay(
  p_run_id uuid, p_trigger_ref text, p_evidence jsonb, p_principal text, p_reason text, p_idempotency_key text
) returns jsonb
language plpgsql stable
as $$
declare
  v_log record;
  v_differs text[];
begin
  select l.seq, l.transition_id, l.from_state, l.to_state, l.trigger_ref, l.evidence, l.principal, l.reason, l.event_type, l.hash into v_log
    from fsm.transition_log l where l.run_id = p_run_id and l.idempotency_key = p_idempotency_key;
  if not found then
    return null;
  end if;
  v_differs := array_remove(array[
    case when v_log.trigger_ref is distinct from p_trigger_ref then 'call' end,
    case when v_log.evidence is distinct from internal.canonical_json(p_evidence) then 'evidence' end,
    case when v_log.principal is distinct from p_principal then 'principal' end,
    case when v_log.reason is distinct from p_reason then 'reason' end], null);
  if v_differs <> '{}' then
    perform internal.refuse(internal.problem('RS012', jsonb_build_object(
      'idempotency_key', p_idempotency_key, 'used_for_seq', v_log.seq, 'differs_in', to_jsonb(v_differs))));
  end if;
  return fsm.accepted(p_run_id, v_log.transition_id, v_log.event_type, v_log.from_state, v_log.to_state, v_log.seq, v_log.hash, true);
end
$$;
