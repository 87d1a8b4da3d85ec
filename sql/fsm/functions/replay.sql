-- promise: for a key that was used before with the same request, the first answer again; with another request, a refusal.
--          Null for a key that was not used.
create or replace function fsm.replay(
  p_run_id uuid, p_from_state text, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
  p_evidence jsonb, p_principal text, p_idempotency_key text, p_reason text, p_artefact_digest bytea
) returns json
language plpgsql
as $$
declare
  v_log record;
  v_differs text[];
begin
  select l.seq, l.transition_id, l.from_state, l.to_state, l.actor_class, l.trigger_kind, l.trigger_ref, l.evidence, l.principal,
         l.reason, l.artefact_digest, l.event_type, l.hash
    into v_log
    from fsm.transition_log l where l.run_id = p_run_id and l.idempotency_key = p_idempotency_key;
  if not found then
    return null;
  end if;
  -- Null entries fall away: what remains are the names of the fields that differ.
  v_differs := array_remove(array[
    case when p_from_state is not null and p_from_state is distinct from v_log.from_state then 'from' end,
    case when p_to_state is distinct from v_log.to_state then 'to' end,
    case when p_actor_class is distinct from v_log.actor_class then 'actor_class' end,
    case when p_trigger_kind is distinct from v_log.trigger_kind then 'trigger_kind' end,
    case when p_trigger_ref is distinct from v_log.trigger_ref then 'trigger_ref' end,
    case when internal.canonical_json(p_evidence) is distinct from v_log.evidence then 'evidence' end,
    case when p_principal is distinct from v_log.principal then 'principal' end,
    case when p_reason is distinct from v_log.reason then 'reason' end,
    case when p_artefact_digest is distinct from v_log.artefact_digest then 'artefact_digest' end], null);
  if v_differs <> '{}' then
    return fsm.refused(p_run_id, p_to_state, internal.problem('RS012', jsonb_build_object(
      'idempotency_key', p_idempotency_key, 'used_for_seq', v_log.seq, 'differs_in', to_jsonb(v_differs))));
  end if;
  return fsm.accepted(p_run_id, v_log.transition_id, v_log.event_type, v_log.from_state, v_log.to_state, v_log.seq, v_log.hash, true);
end
$$;
