-- promise: the types of a family's code columns, in their order; null when one of them is gone.
create or replace function birth.code_types(p_family birth.family) returns oid[]
language sql stable
as $$
  select case when count(a.atttypid) = count(*) then array_agg(a.atttypid order by c.n) end
    from unnest(birth.code_columns(p_family.code_column)) with ordinality c (name, n)
    left join pg_attribute a on a.attrelid = p_family.relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped
$$;
