-- claim: from a microsecond to a year, what a bucket stands for is within half a percent of every lag in it, and buckets keep the order.
select t.equal(count(*)::text, '0')
  from generate_series(0, 31, 0.001) e, lateral (select exp(e)::double precision as micros) l
 where abs(event.lag_ms(event.lag_bucket(l.micros)) * 1000 - l.micros) / l.micros > 0.005;
select t.equal(count(*)::text, '0')
  from (select event.lag_bucket(exp(e)::double precision) as b, lag(event.lag_bucket(exp(e)::double precision)) over (order by e) as before
          from generate_series(0, 31, 0.01) e) s where s.b < s.before;
select t.equal(event.lag_bucket(-5)::text || ' ' || event.lag_bucket(0)::text, '0 0');
