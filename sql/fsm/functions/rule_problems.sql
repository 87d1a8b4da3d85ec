-- promise: what is wrong with the rules of a machine's definition and the shapes that they rest on, as facts of RS020: rules that PostgreSQL
--          cannot read, rules that could hold unanswered, and rules that read what no document of their transition has. Empty when nothing is.
-- callers: fsm.store_definition
create or replace function fsm.rule_problems(p_definition jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_found jsonb;
begin
  select jsonb_agg(g ->> 'name') into v_found
    from jsonb_array_elements(p_definition -> 'guards') g where g ->> 'kind' = 'config' and not fsm.is_jsonpath(g ->> 'rule');
  if v_found is not null then
    return jsonb_build_object('rules_that_are_no_json_path', v_found);
  end if;
  select jsonb_agg(distinct jsonb_build_object('of', s.name, 'at', p ->> 'at')) into v_found
    from (select 'data' as name, p_definition -> 'data' as schema
          union all
          select 'evidence of ' || (t ->> 'label'), t -> 'evidence' from jsonb_array_elements(p_definition -> 'transitions') t) s
    cross join lateral jsonb_array_elements(event.schema_problems(s.schema)) p
   where jsonb_typeof(s.schema) <> 'null';
  if v_found is not null then
    return jsonb_build_object('schemas_outside_the_subset', v_found);
  end if;
  select jsonb_agg(jsonb_build_object('guard', g ->> 'name', 'why', w.why) order by g ->> 'name', w.why) into v_found
    from jsonb_array_elements(p_definition -> 'guards') g, unnest(fsm.rule_form_problems(g ->> 'rule')) w (why)
   where g ->> 'kind' = 'config';
  if v_found is not null then
    return jsonb_build_object('rules_that_could_hold_unanswered', v_found);
  end if;
  select jsonb_agg(distinct jsonb_build_object('guard', g ->> 'name', 'transition', t ->> 'label', 'path', p.shown)) into v_found
    from jsonb_array_elements(p_definition -> 'guards') g
    join jsonb_array_elements(p_definition -> 'transitions') t on t -> 'guards' ? (g ->> 'name')
    cross join lateral (select fsm.rule_document(p_definition, t, coalesce(g -> 'reads', '[]')) as shape offset 0) d
    cross join lateral fsm.rule_paths(g ->> 'rule') p
   where g ->> 'kind' = 'config' and not fsm.path_is_declared(d.shape, p.path);
  return case when v_found is null then '{}' else jsonb_build_object('rules_that_read_what_is_not_there', v_found) end;
end
$$;
