-- promise: after so many seconds without a tick a worker of the class is silent.
create or replace function queue.heartbeat_threshold(p_worker_class text) returns double precision
language sql stable
as $$
  select (c.value #>> '{}')::double precision from config.dot_config c
   where c.key in ('heartbeat.threshold.' || p_worker_class, 'heartbeat.threshold.default') and jsonb_typeof(c.value) = 'number'
   order by c.key = 'heartbeat.threshold.default' limit 1
$$;
