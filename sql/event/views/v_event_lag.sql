create or replace view event.v_event_lag with (security_barrier) as
with merged as (
  select s.minute, s.producer, s.consumer, u.bucket, sum(u.n) as n, max(s.max_ms) as max_ms
    from event.event_lag_series s, unnest(s.buckets, s.counts) u (bucket, n)
   group by s.minute, s.producer, s.consumer, u.bucket),
ranked as (
  select m.minute, m.producer, m.consumer, m.bucket, m.max_ms,
         sum(m.n) over (partition by m.minute, m.producer, m.consumer order by m.bucket) as upto,
         sum(m.n) over (partition by m.minute, m.producer, m.consumer) as total
    from merged m),
trend as (
  select r.minute, r.producer, r.consumer, max(r.total)::bigint as count,
         min(r.bucket) filter (where r.upto >= 0.50 * r.total) as p50, min(r.bucket) filter (where r.upto >= 0.95 * r.total) as p95,
         min(r.bucket) filter (where r.upto >= 0.99 * r.total) as p99, max(r.max_ms) as max_ms
    from ranked r group by r.minute, r.producer, r.consumer)
-- As event.lag_ms, and as there never above the longest lag; a function in a view would be called with the reader's rights.
select t.minute, t.producer, t.consumer, t.count,
       least(2 * exp(0.008::double precision * t.p50) / (1 + exp(0.008::double precision)) / 1000, t.max_ms) as p50_ms,
       least(2 * exp(0.008::double precision * t.p95) / (1 + exp(0.008::double precision)) / 1000, t.max_ms) as p95_ms,
       least(2 * exp(0.008::double precision * t.p99) / (1 + exp(0.008::double precision)) / 1000, t.max_ms) as p99_ms,
       t.max_ms,
       (select (c.value #>> '{}')::double precision from config.dot_config c where jsonb_typeof(c.value) = 'number' and c.key in
         ('event_lag.threshold.' || t.producer || '.' || t.consumer || '.p50', 'event_lag.threshold.p50') order by length(c.key) desc limit 1) as p50_threshold_ms,
       (select (c.value #>> '{}')::double precision from config.dot_config c where jsonb_typeof(c.value) = 'number' and c.key in
         ('event_lag.threshold.' || t.producer || '.' || t.consumer || '.p95', 'event_lag.threshold.p95') order by length(c.key) desc limit 1) as p95_threshold_ms,
       (select (c.value #>> '{}')::double precision from config.dot_config c where jsonb_typeof(c.value) = 'number' and c.key in
         ('event_lag.threshold.' || t.producer || '.' || t.consumer || '.p99', 'event_lag.threshold.p99') order by length(c.key) desc limit 1) as p99_threshold_ms
  from trend t;
comment on view event.v_event_lag is 'The trend of the lag: one row a minute and pair, with the thresholds it is compared with. Ask for a range of minutes.';
