create or replace view governance.vw_governance_schema_violations with (security_barrier) as
select 'schema_violation'::text as category, a.audit_id::text as item_id, a.event_type || '/' || a.code as cause, 'warning'::text as severity, a.at as since,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.schema_violation.title' and m.locale = 'en'),
         '{type}', a.event_type), '{code}', a.code) as title_en,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.schema_violation.title' and m.locale = 'vi'),
         '{type}', a.event_type), '{code}', a.code) as title_vi,
       jsonb_build_object('event_type', a.event_type, 'code', a.code, 'login', a.login_role, 'facts', a.facts) as facts,
       null::text as trace_id, null::text as run_kind, null::uuid as run_id, null::uuid as issue_id, 'refused:' || a.audit_id as source_ref
  from event.event_validation_audit a
 -- Without the setting everything counts.
 where a.at >= coalesce((select internal.now() - make_interval(secs => (c.value #>> '{}')::double precision)
     from config.dot_config c where c.key = 'problems.window_seconds.schema_violation'), '-infinity')
   -- A person who mistyped the payload of one's own move was told so, and is no sender that somebody has to mend. It stays on record.
   and not (a.code = 'RE002' and exists (select from identity.principal p where p.name = a.facts ->> 'principal' and p.kind = 'human'))
union all
select 'schema_violation', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'schema_violation';
comment on view governance.vw_governance_schema_violations is 'Events and summaries that were refused in the window, except for what a person mistyped in a move of their own.';
