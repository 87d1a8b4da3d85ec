create or replace view cutter_governance.v_decision_backlog_history_observe with (security_barrier) as
select h.history_id, h.entry_id, h.entry_version_before, h.entry_version_after, h.change_kind, h.changed_by, h.changed_at
  from cutter_governance.decision_backlog_history h;
comment on view cutter_governance.v_decision_backlog_history_observe is 'For the observer: without change_diff and rationale.';
