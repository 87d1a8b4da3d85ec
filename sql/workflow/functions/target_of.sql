-- promise: where a call leads from a state, by the rows of the machine: the row for this actor, or any row of the call, so that the engine
--          can say why not.
-- refuses with: RW002 the machine has no such call
create or replace function workflow.target_of(p_run_kind text, p_run_id uuid, p_call text, p_actor_class text) returns table (to_state text, trigger_kind text)
language plpgsql stable
as $$
declare
  v_run fsm.run_row := fsm.run_peek(p_run_kind, p_run_id);
begin
  return query
  select t.to_state, t.trigger_kind from fsm.transition_def t
   where t.state_machine_id = v_run.state_machine_id and t.trigger_ref = p_call and t.from_state is not null
   order by t.from_state = v_run.state_code desc, t.actor_class = p_actor_class desc, t.to_state limit 1;
  if not found then
    perform internal.refuse(internal.problem('RW002', jsonb_build_object('call', p_call, 'kind', p_run_kind, 'calls', (
      select jsonb_agg(distinct t.trigger_ref) from fsm.transition_def t
       where t.state_machine_id = v_run.state_machine_id and t.trigger_kind in ('rpc', 'event') and t.from_state is not null))));
  end if;
end
$$;
