create or replace view workflow.v_workflow_change_requests with (security_barrier) as
select t.change_request_id, t.workflow, t.base_version, t.state_machine_id, t.proposal_state, t.facet, t.seq, t.head_hash, t.title,
       t.approval_id, t.merged_def_id, t.started_by, t.trace_id, t.correlation_id, t.created_at, t.last_transition_at, t.row_digest, t.digest_version
  from workflow.workflow_change_requests t;
comment on view workflow.v_workflow_change_requests is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
