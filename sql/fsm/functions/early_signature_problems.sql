-- promise: what is wrong with the signature under a move that is still to be judged; an empty array when it verifies, null where there is nothing
--          to verify: no signature, nobody's key, a request that is malformed, or one that the log has and that is answered from it. What is null here
--          is judged by fsm.move with everything else. 64 zero bytes, which verify under no key, ask for that: whoever is about to sign learns what
--          else stands against the move before they are asked to.
-- callers: fsm.require_move_signature, fsm.fn_state_transition_apply_batch
create or replace function fsm.early_signature_problems(
  p_run_kind text, p_run_id uuid, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb,
  p_principal text, p_idempotency_key text, p_reason text, p_key_id uuid, p_signature bytea, p_machine text default null, p_data jsonb default null
) returns jsonb
language plpgsql stable
as $$
begin
  if p_signature is null or p_signature = decode(repeat('00', 64), 'hex') or p_to_state is null
     or not exists (select from identity.signing_key k where k.key_id = p_key_id and k.principal = p_principal)
     or exists (select from fsm.transition_log l where l.run_id = p_run_id and l.idempotency_key = p_idempotency_key)
     or fsm.request_problems(p_run_kind, p_evidence, p_idempotency_key, p_principal) is not null then
    return null;
  end if;
  return fsm.move_signature_problems(
    p_run_kind, p_run_id, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, p_idempotency_key, p_reason, p_machine, p_data,
    p_key_id, p_signature);
end
$$;
