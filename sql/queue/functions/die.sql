-- promise: the job, which has just failed for the last time, is a dead letter with its whole story, through the engine and the log.
-- callers: queue.settle_failures, queue.expire_leases, with the job's row locked and in the state failed
create or replace function queue.die(p_job_id uuid, p_classification text, p_reason text) returns void
language plpgsql
as $$
declare
  v_job queue.job_queue;
  v_digest bytea;
  v_report jsonb;
begin
  -- The log takes the job over: what it will be chained to is made of the id.
  update queue.job_queue q set seq = 1, head_hash = queue.genesis(p_job_id) where q.job_id = p_job_id and q.seq = 0 and q.state = 'failed'
  returning q.* into strict v_job;
  insert into queue.job_dead_letter (
    job_id, executor_class, job_kind, classification, reason, priority, attempts, max_attempts, lease_no, lease_owner, payload, payload_ref, source_ref,
    target_ref, idempotency_key, replay_request_id, story, started_by, trace_id, correlation_id, created_at, died_at)
  values (
    v_job.job_id, v_job.executor_class, v_job.job_kind, p_classification, left(p_reason, 2000), v_job.priority, v_job.attempts, v_job.max_attempts, v_job.lease_no,
    v_job.failures -> -1 ->> 'worker', internal.canonical_json(v_job.payload_json), v_job.payload_ref, v_job.source_ref, v_job.target_ref, v_job.idempotency_key,
    v_job.replay_request_id, internal.canonical_json(jsonb_build_object('failures', v_job.failures, 'attempts', v_job.attempts)), v_job.started_by,
    v_job.trace_id, v_job.correlation_id, v_job.created_at, internal.now())
  returning row_digest into v_digest;
  v_report := fsm.move(
    p_job_id, 'job', 'failed', 'dead_letter', 'system', 'event', 'job_failed',
    jsonb_build_object('reason', left(p_reason, 2000), 'classification', p_classification, 'event', jsonb_build_object(
      'executor_class', v_job.executor_class, 'job_kind', v_job.job_kind, 'classification', p_classification)),
    'chancery', 'death', left(p_reason, 200), internal.artefact_digest(array[v_digest]), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  if v_job.job_kind in ('workflow.step', 'workflow.task') then
    insert into workflow.agenda (workflow_run_id, cause, run_id)
    values ((v_job.payload_json ->> 'workflow_run_id')::uuid, 'job_died', (v_job.payload_json ->> 'run_id')::uuid);
  end if;
  if v_job.replay_request_id is not null then
    perform queue.replay_ended(v_job.replay_request_id, 'dead_letter', jsonb_build_object('classification', p_classification, 'reason', left(p_reason, 2000)));
  end if;
end
$$;
