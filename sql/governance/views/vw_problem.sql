create or replace view governance.vw_problem with (security_barrier) as
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_dlq_count v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_silent_workers v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_overdue v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_schema_violations v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_event_lag v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_integrity_warnings v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_failed_cuts v
union all
select v.category, v.item_id, v.cause, v.severity, v.since, v.title_en, v.title_vi, v.facts, v.trace_id, v.run_kind, v.run_id, v.issue_id, v.source_ref
  from governance.vw_governance_orphan_workflows v;
comment on view governance.vw_problem is 'The eight categories in one. A condition on the category leaves the others unasked.';
