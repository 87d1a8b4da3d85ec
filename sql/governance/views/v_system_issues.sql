create or replace view governance.v_system_issues with (security_barrier) as
select t.issue_id, t.fingerprint, t.issue_type, t.issue_class, t.source_system, t.severity, t.title, t.description, t.entity_type, t.entity_code,
       t.evidence, t.occurrence_count, t.first_seen_at, t.last_seen_at, t.state_machine_id, t.state, t.facet, t.seq, t.head_hash, t.started_by,
       t.trace_id, t.correlation_id, t.last_transition_at, t.row_digest, t.digest_version
  from governance.system_issues t;
comment on view governance.v_system_issues is 'Findings, raw columns: for those who work with them and for the audit.';
