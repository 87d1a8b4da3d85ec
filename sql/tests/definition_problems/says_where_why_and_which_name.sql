-- claim: what is wrong with a definition is said with its place, why, and the name; first the shape, then the names, then the graph.
create function pg_temp.wrong(p_definition text) returns text language sql as $$
  select coalesce(string_agg(concat_ws(' ', p ->> 'at', p ->> 'why', p ->> 'name'), ' | ' order by i), 'nothing')
    from jsonb_array_elements(workflow.definition_problems(p_definition::jsonb)) with ordinality p (p, i)
$$;
create function pg_temp.file(p_steps text, p_relations text default '[]', p_more text default '{}') returns text language sql as $$
  select (jsonb_build_object('workflow', 'w', 'title', '{"en": "W", "vi": "W"}'::jsonb, 'relations', p_relations::jsonb,
            'steps', (select jsonb_agg('{"title": {"en": "S", "vi": "S"}}'::jsonb || s) from jsonb_array_elements(p_steps::jsonb) s)) || p_more::jsonb)::text
$$;
select t.equal(pg_temp.wrong('{"workflow": "w"}'), '/steps a definition is an object with a list of steps and, beyond one, of relations');
select t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}]')), 'nothing');
select t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a", "titel": 1}]')), '/steps/0/titel additionalProperties'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "A"}]')), '/steps/0/key pattern: ^[a-z][a-z0-9_]{0,62}$'),
       t.equal(pg_temp.wrong(pg_temp.file('[{}]')), '/steps/0/key required'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a", "tasks": [{"key": "t", "title": {"en": "T"}}]}]')), '/steps/0/tasks/0/title/vi required');
select t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a", "executor": "none", "retry": "never", "deadline": "soon", "pic": {}}]')),
               '/steps/0/executor no such executor class none | /steps/0/pic name one of principal, class and starter; it must exist | '
               '/steps/0/retry no such retry policy never | /steps/0/deadline no such length of time soon');
select t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a", "precondition": "$.outputs[*].x == 1", "postcondition": "(("}]')),
               '/steps/0/postcondition not an SQL/JSON path (( | /steps/0/precondition outputs are named as $.outputs.STEP $.outputs[*].x == 1');
select t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b", "with": {"x": ["$.outputs.c.y"]}}]', '[{"from": "a", "to": "b"}]')), '/steps/1/with no such step c');
select t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b"}]', '[{"from": "a", "to": "b"}, {"from": "a", "to": "b"}]')), '/relations/0 the relation stands twice a → b'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b"}]', '[{"from": "a", "to": "b", "when": "$.inputs.x == 1"}]')),
               '/relations/0/when only a condition has a rule a → b'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b"}]', '[{"from": "a", "to": "b", "kind": "condition"}]')),
               '/relations/0/when a condition needs a rule a → b'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b"}]', '[{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]')), '/relations a cycle a → b → a'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b"}]')), '/steps no start leads there; name every first step in "start" b'),
       t.equal(pg_temp.wrong(pg_temp.file('[{"key": "a"}, {"key": "b"}]', '[]', '{"start": ["a", "b"]}')), 'nothing');
