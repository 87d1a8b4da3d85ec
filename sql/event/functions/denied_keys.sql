-- promise: the keys of the deny-list that stand in a document at any depth; null when none does. Values are never repeated.
create or replace function event.denied_keys(p_document jsonb) returns jsonb
language sql stable
as $$
  select jsonb_agg(distinct k.key)
    from jsonb_path_query(p_document, 'strict $.** ? (@.type() == "object")') o, jsonb_object_keys(o) k (key), config.dot_config c
   where c.key = 'event.payload.denied_keys' and c.value ? lower(k.key)
$$;
