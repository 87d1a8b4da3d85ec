create or replace view orchestrator.v_run with (security_barrier) as
select t.run_id, t.run_name, t.state_machine_id, t.state_code, t.facet, t.seq, t.head_hash, t.document_id, t.source_version_id, t.entry_id,
       t.started_by, t.trace_id, t.correlation_id, t.created_at, t.last_transition_at, t.row_digest, t.digest_version
  from orchestrator.run t;
comment on view orchestrator.v_run is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
