-- promise: the threshold of a pair in milliseconds: its own, or that of all.
create or replace function event.lag_threshold(p_producer text, p_consumer text, p_percentile text) returns double precision
language sql stable
as $$
  select (c.value #>> '{}')::double precision from config.dot_config c
   where c.key in ('event_lag.threshold.' || p_producer || '.' || p_consumer || '.' || p_percentile, 'event_lag.threshold.' || p_percentile)
     and jsonb_typeof(c.value) = 'number'
   order by c.key = 'event_lag.threshold.' || p_percentile limit 1
$$;
