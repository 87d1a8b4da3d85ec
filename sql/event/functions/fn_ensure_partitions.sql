-- owner: chancery_owner
-- promise: the outbox has a partition for today and the days ahead, positions have one for the numbers ahead.
--          Days are UTC days, whoever calls. A default partition catches what comes before this was called, so that no move ever fails for want of one.
-- callers: the migrator, and the sequencer before it stamps
create or replace function event.fn_ensure_partitions(p_days_ahead integer default 7) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  v_day date;
  v_name text;
  v_made integer := 0;
  v_from bigint;
  v_chunk constant bigint := 1000000;
begin
  perform pg_advisory_xact_lock(hashtextextended('event.fn_ensure_partitions', 0));
  for v_day in select d::date from generate_series(current_date, current_date + p_days_ahead, interval '1 day') d loop
    v_name := 'event_outbox_' || to_char(v_day, 'YYYYMMDD');
    if to_regclass('event.' || v_name) is null
       and not exists (select from event.event_outbox_default o where o.created_at >= v_day and o.created_at < v_day + 1) then
      -- Made apart and attached: creating it in place would lock the whole outbox against every move.
      execute format('create table event.%I (like event.event_outbox including defaults including constraints)', v_name);
      execute format('alter table event.event_outbox attach partition event.%I for values from (%L) to (%L)', v_name, v_day, v_day + 1);
      perform event.guard_partition(v_name);
      v_made := v_made + 1;
    end if;
  end loop;
  select coalesce((select c.last_position from event.sequencer_cursor c), 0) / v_chunk into v_from;
  for v_from in select generate_series(v_from, v_from + 1) loop
    v_name := 'event_position_' || v_from;
    if to_regclass('event.' || v_name) is null then
      execute format('create table event.%I partition of event.event_position for values from (%s) to (%s)',
                     v_name, v_from * v_chunk, (v_from + 1) * v_chunk);
      perform event.guard_partition(v_name);
      v_made := v_made + 1;
    end if;
  end loop;
  return v_made;
end
$$;
