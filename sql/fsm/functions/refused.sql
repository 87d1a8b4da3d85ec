-- promise: the report of a move that was not made, with everything that stood against it.
create or replace function fsm.refused(p_run_id uuid, p_to_state text, p_problems jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'ok', false, 'run_id', p_run_id, 'transition_id', null, 'emitted_event_type', null, 'from', null, 'to', p_to_state, 'seq', null,
    'hash', null, 'replayed', false, 'problems', p_problems)
$$;
