create or replace view cutter_governance.v_decision_backlog_dependency_observe with (security_barrier) as
select t.dependency_id, t.from_entry_id, t.to_entry_id, t.dependency_kind, t.created_by, t.created_at, t.row_digest
  from cutter_governance.decision_backlog_dependency t;
comment on view cutter_governance.v_decision_backlog_dependency_observe is 'For the observer: without anything left out.';
