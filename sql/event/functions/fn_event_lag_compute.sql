-- promise: p50, p95 and p99 of the time from an event to its delivery, for each pair of producer (kind of run) and consumer (the
--          sequencer and every durable one), over the window. Each is within half a percent of the exact figure. Windows begin
--          with a whole minute.
-- callers: chancery_app, chancery_migrator, auditor_ro
-- refuses with: RE024 the window is not acceptable
create or replace function event.fn_event_lag_compute(p_window interval)
returns table (producer text, consumer text, count bigint, p50_ms double precision, p95_ms double precision, p99_ms double precision, max_ms double precision)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if p_window is null or p_window < interval '1 minute' or p_window > interval '366 days' then
    perform internal.refuse(internal.problem('RE024', jsonb_build_object('given', p_window, 'least', '1 minute', 'most', '366 days')));
  end if;
  return query select l.producer, l.consumer, l.count, l.p50_ms, l.p95_ms, l.p99_ms, l.max_ms
    from event.lag_of(date_trunc('minute', internal.now() - p_window, 'UTC')) l;
end
$$;
