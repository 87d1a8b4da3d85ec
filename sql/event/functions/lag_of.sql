-- promise: the lag of every pair since a minute: what is folded, and what is not yet. The caller's snapshot sees both or neither.
-- callers: event.fn_event_lag_compute, event.fn_event_lag_record
create or replace function event.lag_of(p_since timestamptz)
returns table (producer text, consumer text, count bigint, p50_ms double precision, p95_ms double precision, p99_ms double precision, max_ms double precision)
language plpgsql stable
as $$
begin
  return query
  with counted as (
    select s.producer as who, s.consumer as whom, u.bucket, u.n, s.max_ms as most
      from event.event_lag_series s, unnest(s.buckets, s.counts) u (bucket, n)
     where s.minute >= p_since
    union all
    select t.producer, t.consumer, t.bucket, t.n, t.max_ms
      from event.lag_cursor c, lateral event.lag_samples(
             c.last_position, coalesce((select q.last_position from event.sequencer_cursor q), 0), c.seen_snapshot) t
     where t.minute >= p_since),
  merged as (
    select m.who, m.whom, m.bucket, sum(m.n) as n, max(m.most) as most from counted m group by m.who, m.whom, m.bucket),
  ranked as (
    select r.who, r.whom, r.bucket, r.most, sum(r.n) over (partition by r.who, r.whom order by r.bucket) as upto,
           sum(r.n) over (partition by r.who, r.whom) as total
      from merged r)
  -- The middle of a bucket may lie above the longest lag in it, which is known exactly.
  select k.who, k.whom, max(k.total)::bigint,
         least(event.lag_ms(min(k.bucket) filter (where k.upto >= 0.50 * k.total)), max(k.most)),
         least(event.lag_ms(min(k.bucket) filter (where k.upto >= 0.95 * k.total)), max(k.most)),
         least(event.lag_ms(min(k.bucket) filter (where k.upto >= 0.99 * k.total)), max(k.most)),
         max(k.most)
    from ranked k
   group by k.who, k.whom
   order by k.who, k.whom;
end
$$;
