-- promise: every asked job is in the queue, or was before: the same key in a class is the same job, as long as the retention of
--          finished jobs remembers it. Returns them in the order asked for. All or none.
-- callers: queue.fn_job_enqueue, queue.fn_dlq_replay, doors of other rooms in their own transaction
-- refuses with: RE006, RE007, RE008, RE009 a key stands for another job, RS018
create or replace function queue.enqueue(p_jobs queue.job_request[], p_principal text) returns jsonb
language plpgsql
as $$
declare
  v_problems jsonb := queue.request_problems(p_jobs);
  v_machine text;
  v_now timestamptz := internal.now();
  v_new uuid[];
  v_done uuid[];
  v_other jsonb;
begin
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  select m.state_machine_id into v_machine from fsm.state_machine_def m where m.scope = 'job' and m.active;
  if not found then
    perform internal.refuse(internal.problem('RS018', '{"machine": "job", "active": []}'));
  end if;
  insert into queue.lane (executor_class, priority)
  select distinct j.class, coalesce(j.priority, 100) from unnest(p_jobs) j
   where not exists (select from queue.lane l where l.executor_class = j.class and l.priority = coalesce(j.priority, 100))
  on conflict do nothing;

  with born as (
    insert into queue.job_queue (
      job_id, executor_class, job_kind, state_machine_id, priority, scheduled_at, max_attempts, payload_json, payload_ref, source_ref,
      target_ref, idempotency_key, replay_request_id, causation_event_id, started_by, trace_id, correlation_id, created_at, last_transition_at)
    select queue.job_id(j.class, j.key), j.class, j.kind, v_machine, coalesce(j.priority, 100),
           greatest(coalesce(j.run_at, v_now + coalesce(j.delay_ms, 0) * interval '1 ms'), v_now),
           coalesce(j.max_attempts, p.max_attempts), coalesce(j.payload, '{}'), j.payload_ref, j.source_ref, j.target_ref, j.key,
           j.replay_request_id, j.causation_event_id, p_principal,
           coalesce(j.trace_id, replace(gen_random_uuid()::text, '-', '')), coalesce(j.correlation_id, j.key), v_now, v_now
      from unnest(p_jobs) j
      join queue.executor_class_registry c on c.executor_class = j.class
      join queue.retry_policy_registry p on p.policy = c.policy
    on conflict (job_id) do nothing
    returning job_id)
  select array_agg(job_id) into v_new from born;

  -- A job that was done under this key before is not done again. Asked after the insert: that one waits for a result which is just
  -- being recorded, so the finished job is visible by now.
  select array_agg(n) into v_done from unnest(v_new) n
   where (select true from queue.job_finished f where f.job_id = n limit 1);
  if v_done is not null then
    delete from queue.job_queue q where q.job_id = any (v_done);
  end if;
  if cardinality(v_new) is distinct from cardinality(p_jobs) or v_done is not null then
    select jsonb_agg(distinct jsonb_build_object('class', j.class, 'key', j.key)) into v_other
      from unnest(p_jobs) j,
           lateral (select q.job_kind, q.payload_json, q.payload_ref, q.source_ref, q.target_ref
                      from queue.job_queue q where q.job_id = queue.job_id(j.class, j.key)
                    union all
                    select f.job_kind, f.payload_json, f.payload_ref, f.source_ref, f.target_ref
                      from queue.job_finished f where f.job_id = queue.job_id(j.class, j.key)
                    limit 1) e
     where (e.job_kind, e.payload_json, e.payload_ref, e.source_ref, e.target_ref)
           is distinct from (j.kind, coalesce(j.payload, '{}'), j.payload_ref, j.source_ref, j.target_ref);
    if v_other is not null then
      perform internal.refuse(internal.problem('RE009', jsonb_build_object('keys', v_other)));
    end if;
  end if;
  return (select coalesce(jsonb_agg(jsonb_build_object(
                   'job_id', i.id, 'key', i.key, 'replayed', not i.id = any (coalesce(v_new, '{}')) or i.id = any (coalesce(v_done, '{}'))) order by i.no), '[]')
            from (select queue.job_id(j.class, j.key) as id, j.key, row_number() over () as no from unnest(p_jobs) j) i);
end
$$;
