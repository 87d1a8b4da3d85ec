-- promise: the move is done, whole, or refused with all its problems and nothing changed. The same key with the same
--          request gives the first answer again.
-- callers: chancery_app, cutter_exec, cutter_verify, cutter_review
-- locks: see fsm.move
-- refuses with: RS001–RS014, RS026 the kind moves through the doors of its room, RE001, RE002, RI001–RI008
-- This says who may ask and what; internal.generate_dispatchers then writes the text of fsm.move in the place of the call.
create or replace function fsm.fn_state_transition_apply(
  p_run_id uuid, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text, p_idempotency_key text,
  p_reason text default null, p_artefact_digest bytea default null, p_key_id uuid default null, p_signature bytea default null
) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  return fsm.move(p_run_id, p_run_kind, p_from_state, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence,
                  p_principal, p_idempotency_key, p_reason, p_artefact_digest, p_key_id, p_signature, p_door => true);
end
$$;
