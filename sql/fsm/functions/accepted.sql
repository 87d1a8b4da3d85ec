-- promise: the report of a move that was made, now or when its key was first used.
create or replace function fsm.accepted(
  p_run_id uuid, p_transition_id text, p_event_type text, p_from_state text, p_to_state text, p_seq bigint, p_hash bytea, p_replayed boolean
) returns json
language sql stable
as $$
  select row_to_json(row(
    true, p_run_id, p_transition_id, p_event_type, p_from_state, p_to_state, p_seq, encode(p_hash, 'hex'), p_replayed,
    '[]'::json)::fsm.move_report)
$$;
