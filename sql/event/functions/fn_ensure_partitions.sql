-- owner: chancery_owner
-- promise: every partitioned table has partitions for today and the days ahead, positions for the numbers ahead. A default partition
--          catches what comes before this was called, so that no move ever fails for want of one.
-- callers: the migrator, the host's loop, and the sequencer before it stamps
create or replace function event.fn_ensure_partitions(p_days_ahead integer default 7) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  v_table record;
  v_suffix text;
  v_first bigint := coalesce((select c.last_position from event.sequencer_cursor c), 0) / 1000000;
  v_today date := (internal.now() at time zone 'UTC')::date;
  v_made integer := 0;
begin
  perform internal.take_turn('event.fn_ensure_partitions');
  for v_table in
    select split_part(t.table_name, '.', 1) as room, split_part(t.table_name, '.', 2) as name, t.key_kind from config.partitioned_table t order by t.table_name
  loop
    for v_suffix in
      select to_char(d, 'YYYYMMDD') from generate_series(v_today, v_today + p_days_ahead, interval '1 day') d where v_table.key_kind <> 'million'
      union all
      select n::text from generate_series(v_first, v_first + 1) n where v_table.key_kind = 'million'
    loop
      v_made := v_made + internal.make_partition(v_table.room, v_table.name || '_' || v_suffix)::integer;
    end loop;
  end loop;
  return v_made;
end
$$;
