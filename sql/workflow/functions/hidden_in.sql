-- promise: the keys of the steps of a definition, stored or only proposed, that the reader may not see.
create or replace function workflow.hidden_in(p_definition jsonb, p_reader text) returns text[]
language sql stable
as $$
  select coalesce(array_agg(s ->> 'key' order by n), '{}')
    from jsonb_array_elements(p_definition -> 'steps') with ordinality e (s, n)
   where s ? 'visible_to'
     and not exists (select from identity.principal i, jsonb_array_elements_text(s -> 'visible_to') v
                      where i.name = p_reader and i.active and v = any (i.actor_classes))
$$;
