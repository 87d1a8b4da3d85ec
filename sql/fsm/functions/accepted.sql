-- promise: the report of a move that was made, now or when its key was first used.
create or replace function fsm.accepted(
  p_run_id uuid, p_transition_id text, p_event_type text, p_from_state text, p_to_state text, p_seq bigint, p_hash bytea, p_replayed boolean
) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'ok', true, 'run_id', p_run_id, 'transition_id', p_transition_id, 'emitted_event_type', p_event_type, 'from', p_from_state,
    'to', p_to_state, 'seq', p_seq, 'hash', encode(p_hash, 'hex'), 'replayed', p_replayed, 'problems', '[]'::jsonb)
$$;
