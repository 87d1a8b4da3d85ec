create or replace view governance.vw_governance_failed_cuts with (security_barrier) as
select 'failed_cut'::text as category, 'cut_request:' || e.entry_id as item_id, 'entry/' || e.status as cause, 'critical'::text as severity,
       e.last_transition_at as since,
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.failed_cut.title' and m.locale = 'en'),
         '{what}', e.kind), '{document}', coalesce(e.document_id, '?')), '{state}', e.status) as title_en,
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.failed_cut.title' and m.locale = 'vi'),
         '{what}', e.kind), '{document}', coalesce(e.document_id, '?')), '{state}', e.status) as title_vi,
       jsonb_strip_nulls(jsonb_build_object('entry_id', e.entry_id, 'document_id', e.document_id, 'status', e.status, 'escalations',
         (select jsonb_agg(x.entry_id order by x.entry_id) from cutter_governance.decision_backlog_entry x where x.escalation_of = e.entry_id))) as facts,
       e.trace_id, 'cut_request'::text as run_kind, e.entry_id as run_id, null::uuid as issue_id, 'log:' || e.entry_id || '/' || e.seq as source_ref
  from cutter_governance.decision_backlog_entry e where e.status = 'verify_failed_escalated'
union all
select 'failed_cut', 'orchestrator_run:' || r.run_id, 'run/' || r.state_code, 'critical', r.last_transition_at,
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.failed_cut.title' and m.locale = 'en'),
         '{what}', r.run_name), '{document}', r.document_id), '{state}', r.state_code),
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.failed_cut.title' and m.locale = 'vi'),
         '{what}', r.run_name), '{document}', r.document_id), '{state}', r.state_code),
       jsonb_build_object('run_id', r.run_id, 'run_name', r.run_name, 'document_id', r.document_id, 'entry_id', r.entry_id, 'state', r.state_code),
       r.trace_id, 'orchestrator_run', r.run_id, null, 'log:' || r.run_id || '/' || r.seq
  from orchestrator.run r where starts_with(r.state_code, 'failed_')
union all
select 'failed_cut', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'failed_cut';
comment on view governance.vw_governance_failed_cuts is 'Entries whose verification failed, and runs of the orchestrator that failed. An abandoned entry and a voided run are settled.';
