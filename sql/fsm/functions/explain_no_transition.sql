-- promise: why no row matched: the target is no state of the machine, or what would be possible instead.
create or replace function fsm.explain_no_transition(
  p_run fsm.run_row, p_from_state text, p_to_state text, p_actor_class text
) returns jsonb
language plpgsql stable
as $$
begin
  if not exists (select from fsm.state_def s where s.state_machine_id = p_run.state_machine_id and s.state_code = p_to_state) then
    return internal.problem('RS003', jsonb_build_object(
      'state', p_to_state, 'machine', p_run.state_machine_id,
      'states', (select jsonb_agg(s.state_code order by s.ordinal) from fsm.state_def s
                  where s.state_machine_id = p_run.state_machine_id and not s.is_conceptual)));
  end if;
  return internal.problem('RS004', jsonb_build_object(
    'machine', p_run.state_machine_id, 'from', p_from_state, 'to', p_to_state, 'actor_class', p_actor_class,
    'possible', coalesce((select jsonb_agg(distinct jsonb_build_object('to', t.to_state, 'actor_class', t.actor_class))
                            from fsm.transition_def t
                           where t.state_machine_id = p_run.state_machine_id
                             and t.from_state is not distinct from p_from_state), '[]')));
end
$$;
