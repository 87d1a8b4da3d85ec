-- promise: the rule as it is asked: a member that is not there is an error, and so makes the answer unknown, also under a negation. Stored rules
--          are as they were written; old ones, which were asked in another mode, become strict here too.
-- callers: fsm.v_compiled_transition, workflow.holds, workflow.resolve_params
create or replace function fsm.strict_rule(p_rule jsonpath) returns jsonpath
language sql immutable
as $$ select ('strict ' || regexp_replace(p_rule::text, '^strict ', ''))::jsonpath $$;
