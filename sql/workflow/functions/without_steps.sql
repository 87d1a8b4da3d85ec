-- promise: a definition without these steps and without what leads to or from them.
create or replace function workflow.without_steps(p_definition jsonb, p_keys text[]) returns jsonb
language sql immutable
as $$
  select case when cardinality(p_keys) = 0 then p_definition else p_definition || jsonb_build_object(
    'steps', (select coalesce(jsonb_agg(s order by n), '[]') from jsonb_array_elements(p_definition -> 'steps') with ordinality e (s, n)
               where s ->> 'key' <> all (p_keys)),
    'relations', (select coalesce(jsonb_agg(r order by n), '[]') from jsonb_array_elements(coalesce(p_definition -> 'relations', '[]')) with ordinality e (r, n)
                   where r ->> 'from' <> all (p_keys) and r ->> 'to' <> all (p_keys))) end
$$;
