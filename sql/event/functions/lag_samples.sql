-- promise: lags that are not folded yet, counted by minute, pair and bucket: of the sequencer from the positions behind a number, of the
--          durable consumers from the deliveries that are visible now and were not in a snapshot. (As event.fn_sequence_events: what
--          commits late is not passed by, and an old open transaction delays nobody's samples but its own.)
-- callers: event.fold_lag, event.lag_of
create or replace function event.lag_samples(p_after bigint, p_upto bigint, p_before pg_snapshot)
returns table (minute timestamptz, producer text, consumer text, bucket integer, n bigint, max_ms double precision)
language plpgsql stable
as $$
begin
  return query
  select date_trunc('minute', s.had_at, 'UTC'), s.who, s.whom, event.lag_bucket(s.micros), count(*), max(greatest(s.micros, 0)) / 1000
    from (
      select p.stamped_at as had_at, o.subject_kind as who, 'sequencer' as whom,
             extract(epoch from p.stamped_at - p.event_created_at)::double precision * 1000000 as micros
        from event.event_position p
        join event.event_outbox o on o.xid = p.xid and o.outbox_id = p.outbox_id and o.created_at = p.event_created_at
       where p.position > p_after and p.position <= p_upto
      union all
      select d.delivered_at, d.producer, d.consumer, extract(epoch from d.delivered_at - d.event_at)::double precision * 1000000
        from event.consumer_delivery d
       where d.xid >= pg_snapshot_xmin(p_before) and not pg_visible_in_snapshot(d.xid, p_before)
         -- A number from before a move to another cluster is not reached yet.
         and d.xid < pg_snapshot_xmax(pg_current_snapshot())) s
   group by 1, 2, 3, 4;
end
$$;
