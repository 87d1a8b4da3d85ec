-- promise: whether a condition is true of a document. What cannot be answered (a missing field, another type) is not true.
create or replace function workflow.holds(p_condition jsonpath, p_context jsonb) returns boolean
language sql immutable
as $$ select p_condition is null or coalesce(jsonb_path_match(p_context, p_condition, '{}', true), false) $$;
