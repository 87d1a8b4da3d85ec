-- promise: the steps whose outputs the conditions and the parameters of a step or task name.
create or replace function workflow.reads_of(p_doc jsonb) returns text[]
language sql immutable
as $$
  select coalesce(workflow.named_outputs(concat_ws(' ', p_doc ->> 'precondition', p_doc ->> 'postcondition',
           (select string_agg(m[1], ' ') from regexp_matches((p_doc -> 'with')::text, E'"(\\$\\.(?:[^"\\\\]|\\\\.)*)"', 'g') m))), '{}')
$$;
