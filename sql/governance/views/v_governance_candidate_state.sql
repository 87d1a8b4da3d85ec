create or replace view governance.v_governance_candidate_state with (security_barrier) as
select c.candidate_id, c.birth_id, c.object_type, c.object_ref, c.state_machine_id, c.state, c.facet, c.seq, c.head_hash, c.started_by, c.trace_id, c.correlation_id,
       c.created_at, c.last_transition_at, c.row_digest, c.digest_version
  from governance.governance_candidate_state c;
comment on view governance.v_governance_candidate_state is 'Births as they were handed to governance.';
