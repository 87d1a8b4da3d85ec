-- promise: whether a condition is true of a document: true, false, or null where it cannot be answered (a missing field, another type, any
--          error). What cannot be answered is neither true nor false, whatever is negated around it.
create or replace function workflow.holds(p_condition jsonpath, p_context jsonb) returns boolean
language sql immutable
as $$ select p_condition is null or fsm.answer(p_context, fsm.strict_rule(p_condition)) $$;
