-- promise: one value for a statement, a key and a signature together: what a door saw verify is told from everything else by it.
-- callers: fsm.require_move_signature, fsm.fn_state_transition_apply_batch, fsm.move_signature_problems
create or replace function fsm.signed_digest(p_statement text, p_key_id uuid, p_signature bytea) returns bytea
language sql immutable
as $$ select sha256(uuid_send(p_key_id) || p_signature || convert_to(p_statement, 'UTF8')) $$;
