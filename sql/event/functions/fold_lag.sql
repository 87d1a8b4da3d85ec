-- promise: what happened since the last call stands in the series, by minute and pair, once. Gives how many rows it made.
-- callers: event.fn_event_lag_record
-- locks: the cursor row: one at a time
create or replace function event.fold_lag() returns integer
language plpgsql
as $$
declare
  v_cursor event.lag_cursor;
  v_system bigint := (select s.system_identifier from pg_control_system() s);
  -- What is below the horizon is over, so nothing below it can commit late and be passed by.
  v_horizon xid8;
  v_upto bigint;
  v_made integer;
begin
  select c.* into strict v_cursor from event.lag_cursor c for update;
  v_horizon := pg_snapshot_xmin(pg_current_snapshot());
  if v_cursor.system_identifier <> v_system then
    -- Moved to another cluster, or never used: transaction numbers of elsewhere mean nothing here. Samples, not evidence: those
    -- that were not folded are left out.
    v_cursor.folded_below := case v_cursor.system_identifier when 0 then '0'::xid8 else v_horizon end;
  end if;
  v_upto := least(coalesce((select q.last_position from event.sequencer_cursor q), 0), v_cursor.last_position + 2000000);
  insert into event.event_lag_series (minute, producer, consumer, recorded_at, count, max_ms, buckets, counts)
  select s.minute, s.producer, s.consumer, internal.now(), sum(s.n), max(s.max_ms), array_agg(s.bucket order by s.bucket), array_agg(s.n order by s.bucket)
    from event.lag_samples(v_cursor.last_position, v_upto, v_cursor.folded_below, v_horizon) s
   group by s.minute, s.producer, s.consumer;
  get diagnostics v_made = row_count;
  update event.lag_cursor set last_position = v_upto, folded_below = v_horizon, system_identifier = v_system;
  return v_made;
end
$$;
