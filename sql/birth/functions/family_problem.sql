-- promise: why a table cannot be put under admission like this; null when it can.
-- callers: birth.fn_family_put
create or replace function birth.family_problem(p_relation oid, p_code_column text, p_name_column text, p_rule text, p_ttl_seconds integer, p_role text, p_enforced boolean)
returns jsonb
language plpgsql stable
as $$
declare
  v_table record;
  v_code record;
  v_facts jsonb;
  -- Only what the server itself casts to text: a cast of the owner's would run with our rights.
  v_types constant oid[] := array['text'::regtype, 'varchar'::regtype, 'bpchar'::regtype, 'uuid'::regtype, 'int2'::regtype, 'int4'::regtype, 'int8'::regtype]::oid[];
begin
  select c.relkind, c.relispartition, c.relpersistence, n.nspowner = 'chancery_owner'::regrole as ours, n.nspname,
         exists (select from pg_inherits i where i.inhparent = c.oid) and c.relkind = 'r' or exists (
           select from pg_inherits i where i.inhrelid = c.oid) and not c.relispartition as inherits
    into v_table from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_relation;
  select a.attnotnull, a.atttypid into v_code from pg_attribute a
   where a.attrelid = p_relation and a.attname = p_code_column and a.attnum > 0 and not a.attisdropped;
  v_facts := case
    when v_table.relkind is null then '{"why": "unknown"}'
    when v_table.relkind not in ('r', 'p') then '{"why": "no_table"}'
    when v_table.relpersistence <> 'p' then '{"why": "not_permanent"}'
    when v_table.relispartition then '{"why": "a_partition"}'
    when v_table.inherits then '{"why": "inheritance"}'
    when v_table.ours or v_table.nspname in ('pg_catalog', 'information_schema') then '{"why": "not_yours"}'
    when v_code.atttypid is null then jsonb_build_object('why', 'no_such_column', 'column', p_code_column)
    when v_code.atttypid <> all (v_types) then jsonb_build_object('why', 'type_of_the_code', 'column', p_code_column, 'type', v_code.atttypid::regtype)
    when p_enforced and not v_code.attnotnull then jsonb_build_object('why', 'code_may_be_null', 'column', p_code_column)
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
