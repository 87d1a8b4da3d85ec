create or replace view cutter_governance.v_decision_backlog_entry with (security_barrier) as
select t.entry_id, t.kind, t.status, t.payload, t.emitted_at, t.scenario_ref, t.idempotency_key, t.document_id,
       t.source_version_id, t.escalation_of, t.state_machine_id, t.facet, t.seq, t.head_hash, t.started_by, t.trace_id,
       t.correlation_id, t.last_transition_at, t.row_digest, t.digest_version
  from cutter_governance.decision_backlog_entry t;
comment on view cutter_governance.v_decision_backlog_entry is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
