-- promise: what happened since the last call stands in the series, by minute and pair, once. Gives how many rows it made.
-- callers: event.fn_event_lag_record
-- locks: the cursor row: one at a time
create or replace function event.fold_lag() returns integer
language plpgsql
as $$
declare
  v_cursor event.lag_cursor;
  v_system bigint := (select s.system_identifier from pg_control_system() s);
  v_before pg_snapshot;
  v_seen pg_snapshot;
  v_upto bigint;
  v_made integer;
begin
  select c.* into strict v_cursor from event.lag_cursor c for update;
  -- Moved to another cluster: transaction numbers of elsewhere mean nothing here. Samples, not evidence: those that were not folded
  -- are left out. (0: never used.)
  v_before := case when v_cursor.system_identifier in (0, v_system) then v_cursor.seen_snapshot else pg_current_snapshot() end;
  v_upto := least(coalesce((select q.last_position from event.sequencer_cursor q), 0), v_cursor.last_position + 2000000);
  -- One statement, so that the snapshot it keeps is the one it read with.
  with folded as (
    insert into event.event_lag_series (minute, producer, consumer, recorded_at, count, max_ms, buckets, counts)
    select s.minute, s.producer, s.consumer, internal.now(), sum(s.n), max(s.max_ms), array_agg(s.bucket order by s.bucket), array_agg(s.n order by s.bucket)
      from event.lag_samples(v_cursor.last_position, v_upto, v_before) s
     group by s.minute, s.producer, s.consumer
    returning minute)
  select count(*), pg_current_snapshot() into v_made, v_seen from folded;
  update event.lag_cursor set last_position = v_upto, seen_snapshot = v_seen, system_identifier = v_system;
  return v_made;
end
$$;
