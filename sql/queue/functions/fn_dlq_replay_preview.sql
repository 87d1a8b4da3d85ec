-- promise: what a replay of these dead jobs would run, and what stands against it. Writes nothing.
-- callers: chancery_app
create or replace function queue.fn_dlq_replay_preview(p_batch_id uuid, p_job_ids uuid[], p_stagger_ms integer) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'job_id', g.job_id, 'dlq_replay_request_id', internal.derived_uuid(p_batch_id, g.job_id::text),
           'replay_key', 'replay:' || internal.derived_uuid(p_batch_id, g.job_id::text),
           'executor_class', d.executor_class, 'job_kind', d.job_kind, 'payload', d.payload::jsonb, 'payload_ref', d.payload_ref, 'source_ref', d.source_ref,
           'target_ref', d.target_ref, 'priority', d.priority, 'attempts_before', d.attempts, 'max_attempts', d.max_attempts, 'died_of', d.classification,
           'reason', d.reason, 'starts_after_ms', (g.no - 1) * p_stagger_ms, 'against', queue.replay_objection(g.job_id)) order by g.no), '[]')
    from unnest(p_job_ids) with ordinality g (job_id, no) left join queue.job_dead_letter d on d.job_id = g.job_id
$$;
