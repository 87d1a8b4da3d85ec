-- claim: a partition is a UTC day, wherever the caller sits: two callers on the two sides of midnight agree.
select event.fn_ensure_partitions(3);
set local timezone = 'Pacific/Kiritimati';
select t.equal(event.fn_ensure_partitions(3)::text, '0');
set local timezone = 'Pacific/Pago_Pago';
select t.equal(event.fn_ensure_partitions(3)::text, '0');
set local timezone = 'UTC';
select t.equal(pg_get_expr(c.relpartbound, c.oid),
               format('FOR VALUES FROM (''%s 00:00:00+00'') TO (''%s 00:00:00+00'')', to_date(right(c.relname, 8), 'YYYYMMDD'), to_date(right(c.relname, 8), 'YYYYMMDD') + 1))
  from pg_class c where c.relispartition and c.relname ~ '^event_outbox_[0-9]{8}$';
