create or replace view governance.v_proposal with (security_barrier) as
select t.proposal_id, t.proposal_kind, t.proposer_class, t.state_machine_id, t.proposal_state, t.facet, t.seq, t.head_hash, t.title,
       t.affected_iu_ids, t.proposed_action, t.action_sha256, t.approval_id, t.outcome, t.started_by, t.trace_id, t.correlation_id, t.created_at,
       t.last_transition_at, t.row_digest, t.digest_version
  from governance.proposal t;
comment on view governance.v_proposal is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
