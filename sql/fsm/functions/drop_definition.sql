-- promise: a version without runs is gone from the registry. Called by fn_machine_apply, which made sure that it has none.
create or replace function fsm.drop_definition(p_id text) returns void
language plpgsql
as $$
begin
  delete from fsm.transition_def where state_machine_id = p_id;
  delete from fsm.guard_def where starts_with(guard_id, p_id || '/');
  delete from fsm.state_facet_def where state_machine_id = p_id;
  delete from fsm.state_def where state_machine_id = p_id;
  delete from fsm.rollup_policy_def where state_machine_id = p_id;
  delete from fsm.invariant_def where state_machine_id = p_id;
  delete from fsm.state_machine_def where state_machine_id = p_id;
end
$$;
