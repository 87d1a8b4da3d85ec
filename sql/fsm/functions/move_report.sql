-- promise: the answer of a move as JSON, the same for a single move and for each one of a batch.
create or replace function fsm.move_report(p_result fsm.move_result, p_run_id uuid, p_to_state text) returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'ok', p_result.problems is null,
    'run_id', p_run_id,
    'transition_id', p_result.transition_id,
    'emitted_event_type', p_result.event_type,
    'from', p_result.from_state,
    'to', p_to_state,
    'seq', p_result.seq,
    'hash', encode(p_result.hash, 'hex'),
    'replayed', coalesce(p_result.replayed, false),
    'problems', coalesce(p_result.problems, '[]'));
end
$$;
