create or replace view queue.v_dlq_replay_request with (security_barrier) as
select r.dlq_replay_request_id, r.batch_id, r.batch_no, r.job_id, r.state_machine_id, r.proposal_state, r.facet, r.seq, r.head_hash, r.reason, r.stagger_ms, r.approval_id,
       r.replay_job_id, r.outcome_jsonb, r.started_by, r.trace_id, r.correlation_id, r.created_at, r.last_transition_at, r.row_digest, r.digest_version
  from queue.dlq_replay_request r;
comment on view queue.v_dlq_replay_request is 'Proposals to replay dead jobs, with their approval and outcome.';
