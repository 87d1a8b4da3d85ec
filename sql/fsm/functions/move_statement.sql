-- promise: the text that a principal signs for a move, as crates/chancery-model/src/envelope.rs makes it (version 1). p_machine is the run's where
--          the move is its birth, otherwise null.
-- callers: fsm.move_signature_problems, fsm.early_signature_problems
create or replace function fsm.move_statement(
  p_run_kind text, p_run_id uuid, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb,
  p_principal text, p_idempotency_key text, p_reason text, p_machine text, p_data jsonb
) returns text
language plpgsql stable
as $$
declare
  v_data text;
begin
  if p_machine is not null then
    v_data := internal.canonical_json(case
      when (select k.signed_with_data from fsm.run_kind_def k where k.run_kind = p_run_kind) then p_data else 'null' end);
  end if;
  return internal.canonical_json(jsonb_build_object(
    'run_kind', p_run_kind, 'run_id', p_run_id, 'to', p_to_state, 'principal', p_principal, 'actor_class', p_actor_class,
    'trigger', jsonb_build_array(p_trigger_kind, p_trigger_ref), 'evidence', p_evidence, 'reason', p_reason, 'idempotency_key', p_idempotency_key,
    'machine', split_part(p_machine, '@', 1), 'data_sha256', encode(sha256(convert_to(v_data, 'UTF8')), 'hex')));
end
$$;
