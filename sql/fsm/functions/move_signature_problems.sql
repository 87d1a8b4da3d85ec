-- promise: what is wrong with the signature under a move; an empty array when its principal signed exactly this move. p_verified is what a door
--          got from fsm.require_move_signature: the same statement with the same signature is not verified twice.
-- callers: fsm.move, birth.require_requester
create or replace function fsm.move_signature_problems(
  p_run_kind text, p_run_id uuid, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb,
  p_principal text, p_idempotency_key text, p_reason text, p_machine text, p_data jsonb, p_key_id uuid, p_signature bytea,
  p_verified bytea default null
) returns jsonb
language plpgsql stable
as $$
declare
  v_statement constant text := fsm.move_statement(
    p_run_kind, p_run_id, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, p_idempotency_key, p_reason, p_machine, p_data);
begin
  if p_verified = fsm.signed_digest(v_statement, p_key_id, p_signature) then
    return '[]';
  end if;
  return identity.signature_problems(p_principal, p_key_id, 'application/vnd.chancery.move.v1+json', v_statement, p_signature);
end
$$;
