-- promise: the edge of a permit's machine that this actor takes between two states, with the event it emits. Permits move in sets, so
--          the edge is asked once for all of them; what its guards ask for stands in the statements that move.
-- callers: birth.reserve, birth.settle
-- refuses with: RS004 the machine has no such edge, RE001 its event is not active
create or replace function birth.edge(p_machine text, p_from text, p_to text, p_actor_class text) returns fsm.transition_def
language plpgsql stable
as $$
declare
  v_edge fsm.transition_def;
begin
  select t.* into v_edge from fsm.transition_def t
   where t.state_machine_id = p_machine and t.from_state is not distinct from p_from and t.to_state = p_to and t.actor_class = p_actor_class and not t.proposed;
  if not found then
    perform internal.refuse(internal.problem('RS004', jsonb_build_object(
      'machine', p_machine, 'from', p_from, 'to', p_to, 'actor_class', p_actor_class, 'possible', '[]'::jsonb)));
  elsif v_edge.emitted_event_type is not null and not v_edge.event_active then
    perform internal.refuse(internal.problem('RE001', jsonb_build_object('event_type', v_edge.emitted_event_type)));
  end if;
  return v_edge;
end
$$;
