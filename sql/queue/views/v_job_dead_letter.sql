create or replace view queue.v_job_dead_letter with (security_barrier) as
select d.job_id, d.executor_class, d.job_kind, d.classification, d.reason, d.priority, d.attempts, d.max_attempts, d.lease_no, d.lease_owner, d.payload, d.payload_ref,
       d.source_ref, d.target_ref, d.idempotency_key, d.replay_request_id, d.story, d.started_by, d.trace_id, d.correlation_id, d.created_at, d.died_at, d.row_digest, d.digest_version
  from queue.job_dead_letter d;
comment on view queue.v_job_dead_letter is 'Dead letters as they were written; whether they are settled is the job''s state (cleaned).';
