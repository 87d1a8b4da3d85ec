-- owner: chancery_owner
-- promise: a table that is partitioned by day has a partition for today and the days ahead. Days are UTC days, whoever calls. Its
--          default partition catches what comes before this was called, so nothing fails for want of one. Somebody who holds the
--          table is not waited for, since everybody else would wait behind: the next call tries again, days before it is needed.
-- callers: the migrator's bundle, the doors whose tables they are
-- Dynamic SQL here makes tables and triggers, with %I and %L only.
create or replace function internal.ensure_day_partitions(p_table text, p_days_ahead integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '100ms'
as $$
declare
  v_room constant text := split_part(p_table, '.', 1);
  v_name constant text := split_part(p_table, '.', 2);
  v_key constant text := (select a.attname from pg_partitioned_table t join pg_attribute a on a.attrelid = t.partrelid and a.attnum = t.partattrs[0]
                           where t.partrelid = p_table::regclass);
  v_today constant date := (internal.now() at time zone 'UTC')::date;
  v_day date;
  v_partition text;
  v_caught boolean;
  v_made integer := 0;
begin
  for v_day in select v_today + d from generate_series(0, p_days_ahead) d loop
    v_partition := v_name || '_' || to_char(v_day, 'YYYYMMDD');
    continue when to_regclass(format('%I.%I', v_room, v_partition)) is not null;
    perform pg_advisory_xact_lock(hashtextextended('internal.ensure_day_partitions:' || p_table, 0));
    continue when to_regclass(format('%I.%I', v_room, v_partition)) is not null;
    execute format('select exists (select from %I.%I where %I >= %L and %I < %L)', v_room, v_name || '_default', v_key, v_day, v_key, v_day + 1)
       into v_caught;
    continue when v_caught;
    -- Made apart and attached: creating it in place would lock the whole table against its writers.
    execute format('create table %I.%I (like %I.%I including defaults including constraints)', v_room, v_partition, v_room, v_name);
    execute format('alter table %I.%I attach partition %I.%I for values from (%L) to (%L)', v_room, v_name, v_room, v_partition, v_day, v_day + 1);
    -- Row triggers reach partitions by themselves, TRUNCATE triggers do not.
    execute format('create or replace trigger is_never_emptied before truncate on %I.%I for each statement execute function internal.refuse_direct_write(%L)',
                   v_room, v_partition, 'RS016');
    execute format('alter table %I.%I enable always trigger is_never_emptied', v_room, v_partition);
    v_made := v_made + 1;
  end loop;
  return v_made;
exception when lock_not_available then
  return 0;
end
$$;
