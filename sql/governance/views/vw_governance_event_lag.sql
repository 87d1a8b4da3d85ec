create or replace view governance.vw_governance_event_lag with (security_barrier) as
with measured as (
  select l.producer, l.consumer, l.producer || '/' || l.consumer as code, l.count, l.p50_ms, l.p95_ms, l.p99_ms, t.p50, t.p95, t.p99
    from (select make_interval(secs => (c.value #>> '{}')::double precision) as width from config.dot_config c where c.key = 'event_lag.window_seconds') w,
         lateral event.fn_event_lag_compute(w.width) l,
         lateral (
           select (select (c.value #>> '{}')::double precision from config.dot_config c where jsonb_typeof(c.value) = 'number' and c.key in
                    ('event_lag.threshold.' || l.producer || '.' || l.consumer || '.p50', 'event_lag.threshold.p50') order by length(c.key) desc limit 1) as p50,
                  (select (c.value #>> '{}')::double precision from config.dot_config c where jsonb_typeof(c.value) = 'number' and c.key in
                    ('event_lag.threshold.' || l.producer || '.' || l.consumer || '.p95', 'event_lag.threshold.p95') order by length(c.key) desc limit 1) as p95,
                  (select (c.value #>> '{}')::double precision from config.dot_config c where jsonb_typeof(c.value) = 'number' and c.key in
                    ('event_lag.threshold.' || l.producer || '.' || l.consumer || '.p99', 'event_lag.threshold.p99') order by length(c.key) desc limit 1) as p99) t
   where l.p50_ms > t.p50 or l.p95_ms > t.p95 or l.p99_ms > t.p99)
-- What the loop found stays until it is measured below every threshold again: no news is not good news.
select 'event_lag'::text as category, f.entity_code as item_id, split_part(f.entity_code, '/', 2) as cause, f.severity, f.since,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.event_lag.title' and m.locale = 'en'),
         '{producer}', split_part(f.entity_code, '/', 1)), '{consumer}', split_part(f.entity_code, '/', 2)) as title_en,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.event_lag.title' and m.locale = 'vi'),
         '{producer}', split_part(f.entity_code, '/', 1)), '{consumer}', split_part(f.entity_code, '/', 2)) as title_vi,
       f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'event_lag' and f.issue_type = 'event_lag_breach' and f.entity_code is not null
union all
-- Breached now, and the loop has not looked yet.
select 'event_lag', m.code, m.consumer, case when m.p50_ms > m.p50 then 'critical' else 'warning' end, (select internal.now()),
       replace(replace((select w.text from config.message w where w.message_key = 'problem.event_lag.title' and w.locale = 'en'),
         '{producer}', m.producer), '{consumer}', m.consumer),
       replace(replace((select w.text from config.message w where w.message_key = 'problem.event_lag.title' and w.locale = 'vi'),
         '{producer}', m.producer), '{consumer}', m.consumer),
       jsonb_build_object('producer', m.producer, 'consumer', m.consumer, 'measured', jsonb_build_object('p50', m.p50_ms, 'p95', m.p95_ms, 'p99', m.p99_ms, 'count', m.count),
                          'thresholds', jsonb_build_object('p50', m.p50, 'p95', m.p95, 'p99', m.p99)),
       null, null, null, null, null
  from measured m
 where not exists (select from governance.v_open_finding f where f.issue_type = 'event_lag_breach' and f.entity_code = m.code)
union all
select 'event_lag', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'event_lag' and (f.issue_type <> 'event_lag_breach' or f.entity_code is null);
comment on view governance.vw_governance_event_lag is 'Pairs of producer and consumer above a threshold.';
