-- promise: how a row of a rule table is named: the values of its key, joined by spaces.
create or replace function audit.rule_key(p_row jsonb, p_key_columns text[]) returns text
language sql immutable
as $$
  select string_agg(coalesce(p_row ->> k.name, ''), ' ' order by k.place) from unnest(p_key_columns) with ordinality k (name, place)
$$;
