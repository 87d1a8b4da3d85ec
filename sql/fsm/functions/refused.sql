-- promise: the report of a move that was not made, with everything that stood against it.
create or replace function fsm.refused(p_run_id uuid, p_to_state text, p_problems jsonb) returns json
language sql stable
as $$
  select row_to_json(row(false, p_run_id, null, null, null, p_to_state, null, null, false, p_problems::json)::fsm.move_report)
$$;
