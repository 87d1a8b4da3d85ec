-- promise: the problem of a caller who believes the run to be elsewhere; an empty array when they are right or say nothing.
create or replace function fsm.from_problems(p_run fsm.run_row, p_from_state text) returns jsonb
language plpgsql stable
as $$
begin
  if p_run.seq > 0 and p_from_state <> p_run.state_code then
    return internal.problem('RS009', jsonb_build_object('expected', p_from_state, 'actual', p_run.state_code));
  end if;
  return '[]';
end
$$;
