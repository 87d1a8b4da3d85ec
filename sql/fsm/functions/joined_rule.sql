-- promise: several rules as one that is asked without a net; null where one of them is no rule, or one that could raise an error (rules that
--          were stored before those were refused).
-- callers: fsm.v_compiled_transition
create or replace function fsm.joined_rule(p_rules jsonpath[]) returns jsonpath
language sql immutable
as $$
  select case when bool_and(r.text is not null and fsm.rule_form_problems(r.text) = '{}')
              -- The mode stands once, before all of it.
              then ('strict ' || string_agg('(' || r.text || ')', ' && ' order by r.n))::jsonpath end
    from (select regexp_replace(u.rule::text, '^strict ', '') as text, u.n from unnest(p_rules) with ordinality u (rule, n)) r
$$;
