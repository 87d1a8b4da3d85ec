create or replace view governance.vw_governance_integrity_warnings with (security_barrier) as
select 'integrity'::text as category, f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id,
       f.issue_id, f.source_ref
  -- Findings of no category are shown here as well: what somebody reported is never hidden.
  from governance.v_open_finding f where f.issue_class in ('integrity', 'operation')
union all
-- A unit that is not what the newest row of its log says: changed past its doors.
select 'integrity', 'unit:' || u.id, 'axis_inconsistency', 'critical', l.at,
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.integrity.title' and m.locale = 'en'),
         '{address}', u.canonical_address), '{is}', u.lifecycle_status), '{log}', l.to_lifecycle),
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.integrity.title' and m.locale = 'vi'),
         '{address}', u.canonical_address), '{is}', u.lifecycle_status), '{log}', l.to_lifecycle),
       jsonb_build_object('unit_id', u.id, 'address', u.canonical_address, 'lifecycle', u.lifecycle_status, 'logged', l.to_lifecycle, 'log_seq', l.seq),
       null, null, u.id, null, 'unit:' || l.lifecycle_log_id
  from iu.iu_lifecycle_log l
  join iu.information_unit u on u.id = l.unit_id
 where l.at >= (select internal.now() - make_interval(secs => (c.value #>> '{}')::double precision)
                  from config.dot_config c where c.key = 'problems.window_seconds.integrity')
   and u.lifecycle_status <> l.to_lifecycle
   and not exists (select from iu.iu_lifecycle_log n where n.unit_id = l.unit_id and n.seq > l.seq);
comment on view governance.vw_governance_integrity_warnings is 'Findings that somebody has to look at, and units that differ from their own log.';
