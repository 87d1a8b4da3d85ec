-- promise: the columns of a rule row that its history keeps: all but when it was made, which decides nothing and differs between
--          two installations of one release.
create or replace function audit.rule_columns(p_row jsonb) returns text[]
language sql immutable
as $$
  select coalesce(array_agg(k.name order by k.name), '{}') from jsonb_object_keys(p_row) k (name) where k.name not in ('created_at', 'registered_at')
$$;
