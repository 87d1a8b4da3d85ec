-- promise: where a move comes with a signature by a key of its principal, it verifies. Gives what fsm.move takes as p_verified, so that no lock is
--          held while a signature is looked at, and each is looked at once; null where there is nothing to verify yet.
-- callers: doors of the rooms, before they lock or write anything: a forged signature waits for nobody, and nobody waits for it
-- refuses with: RI051
-- A door says here what it will move, as far as it can tell without a lock. Should that have changed by the time it holds the lock, then fsm.move
-- sees another statement than this one and verifies that.
create or replace function fsm.require_move_signature(
  p_run_kind text, p_run_id uuid, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb,
  p_principal text, p_idempotency_key text, p_reason text, p_key_id uuid, p_signature bytea, p_machine text default null, p_data jsonb default null
) returns bytea
language plpgsql stable
as $$
declare
  v_problems constant jsonb := fsm.early_signature_problems(
    p_run_kind, p_run_id, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, p_idempotency_key, p_reason, p_key_id,
    p_signature, p_machine, p_data);
begin
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
  return case when v_problems = '[]' then fsm.signed_digest(
    fsm.move_statement(p_run_kind, p_run_id, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, p_idempotency_key,
                       p_reason, p_machine, p_data), p_key_id, p_signature) end;
end
$$;
