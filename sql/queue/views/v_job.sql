create or replace view queue.v_job with (security_barrier) as
select q.job_id, q.job_no, q.executor_class, q.job_kind, q.state, q.priority, q.scheduled_at, q.lease_no, q.lease_owner, q.lease_until, q.attempts, q.max_attempts,
       q.payload_json, q.payload_ref, q.source_ref, q.target_ref, q.idempotency_key, q.replay_request_id, q.causation_event_id, q.failures, null::jsonb as result,
       q.started_by, q.trace_id, q.correlation_id, q.created_at, q.picked_at, null::timestamptz as finished_at
  from queue.job_queue q
union all
select f.job_id, f.job_no, f.executor_class, f.job_kind, f.state, f.priority, null, f.lease_no, f.lease_owner, null, f.attempts, null,
       f.payload_json, f.payload_ref, f.source_ref, f.target_ref, f.idempotency_key, f.replay_request_id, f.causation_event_id, f.failures, f.result,
       f.started_by, f.trace_id, f.correlation_id, f.created_at, f.picked_at, f.finished_at
  from queue.job_finished f;
comment on view queue.v_job is 'Every job that is known: live, dead, and done as long as the retention keeps it.';
