create or replace view cutter_governance.v_decision_backlog_entry_observe with (security_barrier) as
select t.entry_id, t.kind, t.status, t.emitted_at, t.document_id, t.source_version_id, t.escalation_of,
       t.state_machine_id, t.facet, t.seq, t.head_hash, t.started_by, t.trace_id, t.correlation_id, t.last_transition_at,
       t.row_digest
  from cutter_governance.decision_backlog_entry t;
comment on view cutter_governance.v_decision_backlog_entry_observe is 'For the observer: without payload, scenario_ref, idempotency_key.';
