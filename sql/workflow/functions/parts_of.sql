-- promise: every step and every task of a definition in one list, with where it stands. A task has the step's index and its own.
create or replace function workflow.parts_of(p_definition jsonb) returns table (part text, at text, step_index integer, task_index integer, step_key text, doc jsonb)
language sql immutable
as $$
  select 'step', '/steps/' || s.i - 1, s.i::int, null::int, s.doc ->> 'key', s.doc
    from jsonb_array_elements(p_definition -> 'steps') with ordinality s (doc, i)
  union all
  select 'task', '/steps/' || s.i - 1 || '/tasks/' || t.i - 1, s.i::int, t.i::int, s.doc ->> 'key', t.doc
    from jsonb_array_elements(p_definition -> 'steps') with ordinality s (doc, i),
         lateral jsonb_array_elements(case jsonb_typeof(s.doc -> 'tasks') when 'array' then s.doc -> 'tasks' else '[]' end) with ordinality t (doc, i)
$$;
