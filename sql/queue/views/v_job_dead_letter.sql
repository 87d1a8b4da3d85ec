create or replace view queue.v_job_dead_letter with (security_barrier) as
select d.job_id, d.executor_class, d.job_kind, d.classification, d.reason, d.priority, d.attempts, d.max_attempts, d.lease_no, d.lease_owner, d.payload, d.payload_ref,
       d.source_ref, d.target_ref, d.idempotency_key, d.replay_request_id, d.story, d.started_by, d.trace_id, d.correlation_id, d.created_at, d.died_at, d.row_digest,
       q.state
  from queue.job_dead_letter d join queue.job_queue q on q.job_id = d.job_id;
comment on view queue.v_job_dead_letter is 'Dead letters and whether they are settled (state cleaned).';
