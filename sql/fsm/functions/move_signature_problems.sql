-- promise: what is wrong with the signature under a move; an empty array when its principal signed exactly this move. The text is made as
--          crates/chancery-model/src/envelope.rs makes it (version 1). p_machine is the run's where the move is its birth, otherwise null.
-- callers: fsm.move, fsm.fn_run_start, birth.fn_birth_permit_request
create or replace function fsm.move_signature_problems(
  p_run_kind text, p_run_id uuid, p_to_state text, p_principal text, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
  p_evidence jsonb, p_reason text, p_idempotency_key text, p_machine text, p_data jsonb, p_key_id uuid, p_signature bytea
) returns jsonb
language plpgsql stable
as $$
declare
  v_data text;
begin
  if p_machine is not null then
    v_data := internal.canonical_json(case
      when (select k.signed_with_data from fsm.run_kind_def k where k.run_kind = p_run_kind) then p_data else 'null' end);
  end if;
  return identity.signature_problems(
    p_principal, p_key_id, 'application/vnd.chancery.move.v1+json',
    internal.canonical_json(jsonb_build_object(
      'run_kind', p_run_kind, 'run_id', p_run_id, 'to', p_to_state, 'principal', p_principal, 'actor_class', p_actor_class,
      'trigger', jsonb_build_array(p_trigger_kind, p_trigger_ref), 'evidence', p_evidence, 'reason', p_reason, 'idempotency_key', p_idempotency_key,
      'machine', split_part(p_machine, '@', 1), 'data_sha256', encode(sha256(convert_to(v_data, 'UTF8')), 'hex'))),
    p_signature);
end
$$;
