-- promise: whether the document of a condition or parameter is said to have this place. What the definition says nothing about (no schema for
--          the inputs, no contract for an output) is open: when such a place is not there, the run stops at it.
-- callers: workflow.definition_problems, with the contract of the output that the path begins in
create or replace function workflow.place_is_declared(p_inputs jsonb, p_contract jsonb, p_field text, p_path jsonb) returns boolean
language sql immutable
as $$
  select case
    when p_path ->> 0 = 'inputs' then p_inputs -> 'properties' is null or fsm.path_is_declared(p_inputs, p_path - 0)
    when p_path ->> 0 = 'outputs' then p_contract -> 'properties' is null or fsm.path_is_declared(p_contract, p_path - 0 - 0)
    when p_path ->> 0 = 'output' then p_field = 'postcondition' and (p_contract -> 'properties' is null or fsm.path_is_declared(p_contract, p_path - 0))
    else fsm.path_is_declared('{"properties": {"run": {"properties": {"id": {}, "workflow": {}, "started_by": {}}},
                                               "actor": {"properties": {"principal": {}, "class": {}}}}}', p_path) end
$$;
