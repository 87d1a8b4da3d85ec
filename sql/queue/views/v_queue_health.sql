create or replace view queue.v_queue_health with (security_barrier) as
select h.worker_class, h.worker, h.executor_kind, h.status, coalesce(c.frozen, false) as class_frozen, h.last_tick_at, h.last_ok_at, h.silent_since,
       t.seconds as threshold_seconds, h.issue_id, i.state as issue_state, h.ticks_total, h.metadata, h.registered_at
  from queue.queue_heartbeat h
  left join queue.heartbeat_class c on c.worker_class = h.worker_class
  left join governance.system_issues i on i.issue_id = h.issue_id
  left join lateral (
    select (d.value #>> '{}')::double precision as seconds from config.dot_config d
     where d.key in ('heartbeat.threshold.' || h.worker_class, 'heartbeat.threshold.default') and jsonb_typeof(d.value) = 'number'
     order by d.key = 'heartbeat.threshold.default' limit 1) t on true;
comment on view queue.v_queue_health is 'Every worker and loop: when it last ticked, whether it is silent, and whether its class is frozen.';
