-- promise: SHA-256 over these columns of a rule row. jsonb orders its keys by itself; a column that is gone counts as null.
create or replace function audit.rule_digest(p_row jsonb, p_columns text[]) returns bytea
language sql immutable
as $$
  select sha256(convert_to(coalesce(jsonb_object_agg(c.name, p_row -> c.name), '{}')::text, 'UTF8')) from unnest(p_columns) c (name)
$$;
