-- promise: why a table cannot be put under admission like this; null when it can.
-- callers: birth.fn_family_put
create or replace function birth.family_problem(p_relation oid, p_code_column text, p_name_column text, p_rule text, p_ttl_seconds integer, p_role text, p_enforced boolean)
returns jsonb
language plpgsql stable
as $$
declare
  v_table record;
  v_code record;
  v_columns constant text[] := birth.code_columns(p_code_column);
  v_places smallint[];
  v_facts jsonb;
  -- Only what the server itself casts to text: a cast of the owner's would run with our rights.
  v_types constant oid[] := array['text'::regtype, 'varchar'::regtype, 'bpchar'::regtype, 'uuid'::regtype, 'int2'::regtype, 'int4'::regtype, 'int8'::regtype]::oid[];
begin
  select c.relkind, c.relispartition, c.relpersistence, n.nspowner = 'chancery_owner'::regrole as ours, n.nspname,
         exists (select from pg_inherits i where i.inhparent = c.oid) and c.relkind = 'r' or exists (
           select from pg_inherits i where i.inhrelid = c.oid) and not c.relispartition as inherits
    into v_table from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_relation;
  -- The first column of the code that does not fit, and why.
  select c.name, a.atttypid,
         case when a.attnum is null then 'no_such_column'
              when a.atttypid <> all (v_types) then 'type_of_the_code'
              when p_enforced and not a.attnotnull then 'code_may_be_null'
              -- Nobody can say beforehand what the table itself will make of it, and an INSERT that names it is refused.
              when p_enforced and (a.attidentity = 'a' or a.attgenerated <> '') then 'code_is_generated' end as why
    into v_code
    from unnest(v_columns) with ordinality c (name, n)
    left join pg_attribute a on a.attrelid = p_relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped
   order by 3 nulls last limit 1;
  v_places := array(select a.attnum from pg_attribute a where a.attrelid = p_relation and a.attname = any (v_columns) and a.attnum > 0 and not a.attisdropped);
  v_facts := case
    when v_table.relkind is null then '{"why": "unknown"}'
    when v_table.relkind not in ('r', 'p') then '{"why": "no_table"}'
    when v_table.relpersistence <> 'p' then '{"why": "not_permanent"}'
    when v_table.relispartition then '{"why": "a_partition"}'
    when v_table.inherits then '{"why": "inheritance"}'
    when v_table.ours or v_table.nspname in ('pg_catalog', 'information_schema') then '{"why": "not_yours"}'
    when p_code_column is null or v_columns = '{}' then jsonb_build_object('why', 'no_code_named')
    when cardinality(v_columns) <> (select count(distinct c) from unnest(v_columns) c) then jsonb_build_object('why', 'named_twice', 'column', p_code_column)
    when v_code.why is not null then jsonb_strip_nulls(jsonb_build_object(
      'why', v_code.why, 'column', v_code.name, 'type', case when v_code.why = 'type_of_the_code' then v_code.atttypid::regtype end))
    -- Two rows with one code would be one object. An index over some of its columns is enough; on a partitioned table, where an index must have
    -- the columns that part it, one over those besides: within a partition the code is unique then, and a second birth is refused anyway.
    when p_enforced and not exists (
      select from pg_index i
       where i.indrelid = p_relation and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
         and (select bool_and(k.attnum = any (v_places) or v_table.relkind = 'p' and k.attnum = any (
                       (select t.partattrs::smallint[] from pg_partitioned_table t where t.partrelid = p_relation)::smallint[]))
                     and bool_or(k.attnum = any (v_places))
                from unnest((i.indkey::smallint[])[0:i.indnkeyatts - 1]) k (attnum)))
      then jsonb_build_object('why', 'code_not_unique', 'column', p_code_column)
    when p_name_column is not null and not exists (
      select from pg_attribute a where a.attrelid = p_relation and a.attname = p_name_column and a.attnum > 0 and not a.attisdropped and a.atttypid = any (v_types))
      then jsonb_build_object('why', 'no_such_column', 'column', p_name_column)
    when p_rule is not null and (octet_length(p_rule) > 500 or not event.is_regex(p_rule)) then jsonb_build_object('why', 'rule', 'rule', left(p_rule, 500))
    when p_ttl_seconds not between 1 and 604800 then jsonb_build_object('why', 'ttl', 'ttl_seconds', p_ttl_seconds)
    when p_role not in ('governed', 'observed', 'excluded') then jsonb_build_object('why', 'role', 'role', p_role)
  end;
  if v_facts is not null then
    return internal.problem('RB018', v_facts);
  end if;
  return null;
end
$$;
