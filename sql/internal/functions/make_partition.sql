-- owner: chancery_owner
-- promise: the partition of this name is there, with the bounds that its name says; says whether it was made now. Nothing is made
--          where the default partition has rows that would belong to it.
--          Days are UTC days, whoever calls.
-- callers: event.fn_ensure_partitions; a restore, for partitions of the past
create or replace function internal.make_partition(p_room text, p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  v_table record;
  v_suffix text;
  v_from text;
  v_to text;
begin
  select t.key_kind, split_part(t.table_name, '.', 2) as name into v_table
    from config.partitioned_table t
   where split_part(t.table_name, '.', 1) = p_room and p_name ~ ('^' || split_part(t.table_name, '.', 2) || '_[0-9]+$')
   order by length(t.table_name) desc limit 1;
  if not found or to_regclass(format('%I.%I', p_room, p_name)) is not null then
    return false;
  end if;
  v_suffix := substring(p_name from '[0-9]+$');
  select b.low, b.high into v_from, v_to
    from (select case v_table.key_kind
                   when 'day' then v_suffix::date::text
                   when 'uuid_day' then internal.uuid_of_day(v_suffix::date)::text
                   else (v_suffix::bigint * 1000000)::text end as low,
                 case v_table.key_kind
                   when 'day' then (v_suffix::date + 1)::text
                   when 'uuid_day' then internal.uuid_of_day(v_suffix::date + 1)::text
                   else ((v_suffix::bigint + 1) * 1000000)::text end as high) b;
  -- Made apart and attached: creating it in place would lock the whole table against every writer.
  execute format('create table %I.%I (like %I.%I including defaults including constraints)', p_room, p_name, p_room, v_table.name);
  begin
    execute format('alter table %I.%I attach partition %I.%I for values from (%L) to (%L)', p_room, v_table.name, p_room, p_name, v_from, v_to);
  exception when check_violation then
    execute format('drop table %I.%I', p_room, p_name);
    return false;
  end;
  perform internal.guard_partition(p_room, p_name);
  return true;
end
$$;
