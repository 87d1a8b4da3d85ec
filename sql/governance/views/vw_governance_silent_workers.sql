create or replace view governance.vw_governance_silent_workers with (security_barrier) as
select 'silent_worker'::text as category, h.worker_class || '/' || h.worker as item_id, h.worker_class as cause, 'critical'::text as severity,
       coalesce(h.silent_since, h.last_tick_at + make_interval(secs => t.seconds)) as since,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.silent_worker.title' and m.locale = 'en'),
         '{class}', h.worker_class), '{worker}', h.worker) as title_en,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.silent_worker.title' and m.locale = 'vi'),
         '{class}', h.worker_class), '{worker}', h.worker) as title_vi,
       jsonb_build_object('worker_class', h.worker_class, 'worker', h.worker, 'executor_kind', h.executor_kind, 'last_tick_at', h.last_tick_at,
                          'last_ok_at', h.last_ok_at, 'threshold_seconds', t.seconds, 'class_frozen', coalesce(k.frozen, false)) as facts,
       i.trace_id, null::text as run_kind, null::uuid as run_id, h.issue_id, 'heartbeat:' || h.worker_class || '/' || h.worker as source_ref
  from queue.queue_heartbeat h
  left join queue.heartbeat_class k on k.worker_class = h.worker_class
  left join governance.system_issues i on i.issue_id = h.issue_id
  left join lateral (
    select (d.value #>> '{}')::double precision as seconds from config.dot_config d
     where d.key in ('heartbeat.threshold.' || h.worker_class, 'heartbeat.threshold.default') and jsonb_typeof(d.value) = 'number'
     order by d.key = 'heartbeat.threshold.default' limit 1) t on true
 -- Also before the loop has looked: it may be the one that is silent.
 where h.status = 'silent' or h.last_tick_at < (select internal.now()) - make_interval(secs => t.seconds)
union all
select 'silent_worker', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f
 where f.issue_class = 'silent_worker' and not exists (select from queue.queue_heartbeat h where h.issue_id = f.issue_id);
comment on view governance.vw_governance_silent_workers is 'Workers and loops that said nothing for longer than their class may.';
