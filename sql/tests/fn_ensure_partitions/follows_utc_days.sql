-- claim: a partition is a UTC day, wherever the caller sits: callers on the two sides of midnight make the same ones.
set local timezone = 'Pacific/Kiritimati';
select event.fn_ensure_partitions(30);
select t.equal(event.fn_ensure_partitions(30)::text, '0');
set local timezone = 'Pacific/Pago_Pago';
select t.equal(event.fn_ensure_partitions(30)::text, '0');
set local timezone = 'UTC';
select t.equal(pg_get_expr(c.relpartbound, c.oid), format('FOR VALUES FROM (''%s 00:00:00+00'') TO (''%s 00:00:00+00'')', d.day, d.day + 1))
  from pg_class c cross join lateral (select to_date(right(c.relname, 8), 'YYYYMMDD') as day) d
 where c.relispartition and c.relname ~ '^event_outbox_[0-9]{8}$';
