-- promise: everything that is wrong with a definition, each with where and which name; an empty array when nothing is. At most fifty.
create or replace function workflow.definition_problems(p_definition jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_most constant integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'workflow.max_steps');
  v_found jsonb;
  v_numbered record;
begin
  if jsonb_typeof(p_definition) is distinct from 'object' or jsonb_typeof(p_definition -> 'steps') is distinct from 'array' or p_definition -> 'steps' = '[]'
     or jsonb_typeof(coalesce(p_definition -> 'relations', '[]')) <> 'array' then
    return jsonb_build_array(jsonb_build_object('at', '/steps', 'why', 'a definition is an object with a list of steps and, beyond one, of relations'));
  elsif jsonb_array_length(p_definition -> 'steps') > v_most then
    return jsonb_build_array(jsonb_build_object('at', '/steps', 'why', format('at most %s steps', v_most)));
  end if;
  -- the shape
  select jsonb_agg(p) into v_found from (
    select jsonb_build_object('at', p ->> 'at', 'why', concat_ws(': ', p ->> 'rule', p ->> 'expected')) as p
      from jsonb_array_elements(event.value_problems(workflow.definition_shape('whole'), p_definition - '{steps,relations}'::text[])) p
    union all
    select jsonb_build_object('at', d.at || (p ->> 'at'), 'why', concat_ws(': ', p ->> 'rule', p ->> 'expected'))
      from workflow.parts_of(p_definition) d, jsonb_array_elements(event.value_problems(workflow.definition_shape(d.part), d.doc)) p
    union all
    select jsonb_build_object('at', '/relations/' || r.i - 1 || (p ->> 'at'), 'why', concat_ws(': ', p ->> 'rule', p ->> 'expected'))
      from jsonb_array_elements(coalesce(p_definition -> 'relations', '[]')) with ordinality r (doc, i),
           jsonb_array_elements(event.value_problems(workflow.definition_shape('relation'), r.doc)) p
    limit 50) p;
  if v_found is not null then
    return v_found;
  end if;
  -- what its names refer to
  with part as materialized (select * from workflow.parts_of(p_definition)),
  step as materialized (select p.step_key, min(p.step_index) as i, count(*) as n, bool_or(p.doc ? 'sub_workflow') as is_sub, (array_agg(p.doc -> 'output'))[1] as contract from part p where p.part = 'step' group by p.step_key),
  relation as materialized (
    select '/relations/' || r.i - 1 as at, r.doc ->> 'from' as f, r.doc ->> 'to' as t, coalesce(r.doc ->> 'kind', 'trigger') as kind, r.doc ->> 'when' as condition, r.doc
      from jsonb_array_elements(coalesce(p_definition -> 'relations', '[]')) with ordinality r (doc, i)),
  path as materialized (
    select p.at || '/' || x.field as at, x.field, p.doc ->> x.field as path, p.doc -> 'output' as output from part p, unnest('{precondition,postcondition}'::text[]) x (field) where p.doc ? x.field
    union all select r.at || '/when', 'when', r.condition, null from relation r where r.condition is not null
    union all select p.at || '/with', 'with', ('"' || m[1] || '"')::jsonb #>> '{}', null from part p, regexp_matches((p.doc -> 'with')::text, E'"(\\$\\.(?:[^"\\\\]|\\\\.)*)"', 'g') m where p.doc ? 'with')
  select jsonb_agg(jsonb_build_object('at', b.at, 'why', b.why, 'name', b.name)) into v_found from (
    select b.* from (
      select '/steps/' || s.i - 1 || '/key' as at, 'the key stands twice' as why, s.step_key as name from step s where s.n > 1
      union all
      select p.at || '/key', 'the key stands twice', p.doc ->> 'key' from part p where p.part = 'task' and exists (
        select from part q where q.part = 'task' and q.step_index = p.step_index and q.task_index < p.task_index and q.doc ->> 'key' = p.doc ->> 'key')
      union all
      select p.at || '/' || x.field, 'no such ' || x.field, p.doc ->> x.field from part p, (values ('lane', 'lanes'), ('category', 'categories')) x (field, list)
       where p.doc ? x.field and not exists (select from jsonb_array_elements(coalesce(p_definition -> x.list, '[]')) l where l ->> 'key' = p.doc ->> x.field)
      union all
      select p.at || '/executor', 'no such executor class', p.doc ->> 'executor' from part p
       where p.doc ? 'executor' and p.doc ->> 'executor' <> 'human'
         and not exists (select from queue.executor_class_registry c where c.executor_class = p.doc ->> 'executor' and c.active)
      union all
      select p.at || '/sub_workflow', case when p.doc ? 'executor' then 'a sub-workflow has no executor' else 'no such workflow' end, p.doc ->> 'sub_workflow' from part p
       where p.doc ? 'sub_workflow' and (p.doc ? 'executor' or not exists (select from workflow.workflow_registry g where g.workflow = p.doc ->> 'sub_workflow'))
      union all
      select p.at || '/pic', 'name one of principal, class and starter; it must exist', coalesce(p.doc #>> '{pic,principal}', p.doc #>> '{pic,class}') from part p
       where p.doc ? 'pic' and ((select count(*) from jsonb_object_keys(p.doc -> 'pic')) <> 1
         or (p.doc -> 'pic' ? 'principal' and not exists (select from identity.principal i where i.name = p.doc #>> '{pic,principal}'))
         or (p.doc -> 'pic' ? 'class' and not exists (select from identity.actor_class a where a.code = p.doc #>> '{pic,class}')))
      union all
      select p.at || '/retry', 'no such retry policy', p.doc ->> 'retry' from part p
       where p.doc ? 'retry' and not exists (select from queue.retry_policy_registry r where r.policy = p.doc ->> 'retry')
      union all
      select p.at || '/deadline', 'no such length of time', p.doc ->> 'deadline' from part p
       where p.doc ? 'deadline' and not coalesce(workflow.interval_or_null(p.doc ->> 'deadline') > interval '0', false)
      union all
      select p.at || '/output' || (s ->> 'at'), 'outside the subset of JSON Schema', null from part p, jsonb_array_elements(event.schema_problems(p.doc -> 'output')) s where p.doc ? 'output'
      union all
      select '/inputs' || (s ->> 'at'), 'outside the subset of JSON Schema', null from jsonb_array_elements(event.schema_problems(p_definition -> 'inputs')) s where p_definition ? 'inputs'
      union all
      select p.at || '/visible_to', 'no such actor class', v from part p, jsonb_array_elements_text(p.doc -> 'visible_to') v
       where p.doc ? 'visible_to' and not exists (select from identity.actor_class a where a.code = v)
      union all
      select r.at || '/from', 'no such step', r.f from relation r where not exists (select from step s where s.step_key = r.f)
      union all
      select r.at || '/to', 'no such step', r.t from relation r where not exists (select from step s where s.step_key = r.t)
      union all
      select min(r.at), 'the relation stands twice', r.f || ' → ' || r.t from relation r group by r.f, r.t having count(*) > 1
      union all
      select r.at || '/when', case when r.condition is null then 'a condition needs a rule' else 'only a condition has a rule' end, r.f || ' → ' || r.t from relation r
       where (r.kind = 'condition') <> (r.condition is not null)
      union all
      select r.at || '/kind', 'the step it leads to is no sub-workflow', r.t from relation r join step s on s.step_key = r.t where r.kind = 'sub_workflow' and not s.is_sub
      union all
      select '/start', 'no such step', k from jsonb_array_elements_text(coalesce(p_definition -> 'start', '[]')) k where not exists (select from step s where s.step_key = k)
      union all
      select x.at, 'not an SQL/JSON path', x.path from path x where not fsm.is_jsonpath(x.path)
      union all
      -- What could hold although it cannot be answered, or fails each time it is asked. A parameter is a place, and need give no truth value.
      select x.at, case w.why
               when 'variable' then 'a path has no variables but $'
               when 'filter' then 'no filters: what is missing in one is dropped in silence'
               when 'wildcard' then 'no wildcards: name the members'
               when 'exists' then 'no exists(): what is missing stops the run by itself; ask a declared member for == null'
               when 'is_unknown' then 'no "is unknown": what cannot be answered stops the run'
               when 'mode' then 'no mode: every condition is asked strictly'
               when 'keyvalue' then 'no .keyvalue(): name the members'
               when 'datetime' then 'no .datetime(): compare the seconds of a declared time, NAME_s'
               when 'subscript' then 'one element of a list: [0], [last]'
               when 'computed' then 'a member of a place, not of something computed'
               when 'no_predicate' then 'a condition compares'
               else 'no comments and no backslashes' end, x.path
        from path x, unnest(fsm.rule_form_problems(x.path)) w (why)
       where w.why <> 'no_json_path' and (x.field <> 'with' or w.why <> 'no_predicate')
         and not (w.why = 'wildcard' and workflow.named_outputs(x.path) is null)
      union all
      select x.at, 'the document has no such place', q.shown
        from path x
        cross join lateral fsm.rule_paths(case when fsm.is_jsonpath(x.path) then x.path else '$' end) q
        left join step s on q.path ->> 0 = 'outputs' and s.step_key = q.path ->> 1
       where workflow.named_outputs(x.path) is not null and (s.step_key is not null or q.path ->> 0 is distinct from 'outputs')
         and not workflow.place_is_declared(p_definition -> 'inputs', case when s.step_key is null then x.output else s.contract end, x.field, q.path)
      union all
      select x.at, 'outputs are named as $.outputs.STEP', x.path from path x where workflow.named_outputs(x.path) is null
      union all
      select x.at, 'no such step', o from path x, unnest(workflow.named_outputs(x.path)) o where not exists (select from step s where s.step_key = o)
    ) b limit 50) b;
  if v_found is not null then
    return v_found;
  end if;
  -- the graph
  v_numbered := workflow.number_steps(p_definition);
  if v_numbered.cycle is not null then
    return jsonb_build_array(jsonb_build_object('at', '/relations', 'why', 'a cycle', 'name', array_to_string(v_numbered.cycle, ' → ')));
  elsif v_numbered.unreachable <> '{}' then
    return jsonb_build_array(jsonb_build_object('at', '/steps', 'why', 'no start leads there; name every first step in "start"',
                                                'name', array_to_string(v_numbered.unreachable[1:20], ', ')));
  end if;
  return '[]';
end
$$;
