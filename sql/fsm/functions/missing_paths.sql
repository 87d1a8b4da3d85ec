-- promise: the places that a rule reads and the document does not have, as a person writes them; empty when all are there, and only their
--          types are wrong.
-- callers: fsm.refusing_guards, workflow.unanswered
create or replace function fsm.missing_paths(p_document jsonb, p_rule jsonpath) returns jsonb
language sql immutable
as $$
  select coalesce(jsonb_agg(p.shown order by p.shown), '[]')
    from fsm.rule_paths(p_rule::text) p
   where p_document #> array(select coalesce(e.part #>> '{}', '') from jsonb_array_elements(p.path) with ordinality e (part, n) order by e.n) is null
$$;
