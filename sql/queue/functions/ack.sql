-- promise: each result whose lease is still the job's newest is taken; the same result again is answered like the first time; a result
--          of an older lease changes nothing and is named with its code. Returns {accepted, replayed, refused: [...]}.
-- callers: queue.fn_job_ack, queue.fn_job_turn
-- arrow: leased, in_progress → succeeded | retry_waiting | failed (→ dead_letter)
-- refuses with: RE007 the lists do not fit together, RE008 a result carries what it must not
create or replace function queue.ack(p_owner text, p_job_ids uuid[], p_lease_nos integer[], p_outcomes text[], p_details jsonb[]) returns jsonb
language plpgsql
as $$
declare
  v_now timestamptz := internal.now();
  v_given integer := cardinality(p_job_ids);
  v_done integer;
  v_replays integer;
  v_problems jsonb;
begin
  if v_given is null or v_given is distinct from cardinality(p_lease_nos) or v_given is distinct from cardinality(p_outcomes)
     or v_given is distinct from cardinality(p_details) or not p_outcomes <@ array['succeeded', 'failed', 'failed_for_good']
     or array_position(p_job_ids, null) is not null or array_position(p_details, null) is not null then
    perform internal.refuse(internal.problem('RE007', jsonb_build_object('malformed', 'results: as many ids, lease numbers, outcomes (succeeded, failed, failed_for_good) and details')));
  end if;
  if v_given = 0 then
    return '{"accepted": 0, "replayed": 0, "refused": []}';
  end if;
  -- Nearly always no result says anything: asked without a statement.
  if p_details <> array_fill('{}'::jsonb, array[v_given]) then
    select jsonb_agg(jsonb_build_object('job_id', g.job_id, 'breaks', b.breaks)) into v_problems
      from unnest(p_job_ids, p_details) g (job_id, detail), lateral (select queue.payload_breaks(g.detail, 16384) as breaks) b
     where g.detail <> '{}' and (b.breaks is not null or jsonb_typeof(g.detail) <> 'object');
    if v_problems is not null then
      perform internal.refuse(internal.problem('RE008', jsonb_build_object('payloads', v_problems)));
    end if;
  end if;

  -- A single success, which is what a worker without a batch brings, needs no list.
  if v_given = 1 and p_outcomes[1] = 'succeeded' and num_nulls(p_job_ids[1], p_lease_nos[1], p_details[1]) = 0 then
    with done as (
      delete from queue.job_queue q where q.job_id = p_job_ids[1] and q.lease_no = p_lease_nos[1] and q.lease_owner = p_owner
      returning q.*)
    insert into queue.job_finished (
      job_id, job_no, executor_class, job_kind, state, priority, lease_no, lease_owner, attempts, payload_json, payload_ref, source_ref, target_ref,
      idempotency_key, replay_request_id, causation_event_id, failures, result, started_by, trace_id, correlation_id, created_at, picked_at, finished_at)
    select d.job_id, d.job_no, d.executor_class, d.job_kind, 'succeeded', d.priority, d.lease_no, d.lease_owner, d.attempts, d.payload_json, d.payload_ref,
           d.source_ref, d.target_ref, d.idempotency_key, d.replay_request_id, d.causation_event_id, d.failures, p_details[1], d.started_by, d.trace_id,
           d.correlation_id, d.created_at, d.picked_at, v_now
      from done d
    returning 1, num_nonnulls(replay_request_id) into v_done, v_replays;
  else
    with done as (
      delete from queue.job_queue q using unnest(p_job_ids, p_lease_nos, p_outcomes, p_details) g (job_id, lease_no, outcome, detail)
       where q.job_id = g.job_id and g.outcome = 'succeeded' and q.lease_no = g.lease_no and q.lease_owner = p_owner
      returning q.*, g.detail),
    kept as (
      insert into queue.job_finished (
        job_id, job_no, executor_class, job_kind, state, priority, lease_no, lease_owner, attempts, payload_json, payload_ref, source_ref, target_ref,
        idempotency_key, replay_request_id, causation_event_id, failures, result, started_by, trace_id, correlation_id, created_at, picked_at, finished_at)
      select d.job_id, d.job_no, d.executor_class, d.job_kind, 'succeeded', d.priority, d.lease_no, d.lease_owner, d.attempts, d.payload_json, d.payload_ref,
             d.source_ref, d.target_ref, d.idempotency_key, d.replay_request_id, d.causation_event_id, d.failures, d.detail, d.started_by, d.trace_id,
             d.correlation_id, d.created_at, d.picked_at, v_now
        from done d
      returning replay_request_id)
    select count(*), count(k.replay_request_id) into v_done, v_replays from kept k;
  end if;
  if v_done = v_given and v_replays = 0 then
    return jsonb_build_object('accepted', v_done, 'replayed', 0, 'refused', '[]'::jsonb);
  end if;
  return queue.ack_rest(p_owner, p_job_ids, p_lease_nos, p_outcomes, p_details, coalesce(v_done, 0), coalesce(v_replays, 0), v_now);
end
$$;
