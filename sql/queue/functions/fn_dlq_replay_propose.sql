-- promise: for each of these dead jobs stands a request to run it again, submitted by this person, all in one batch that is approved as
--          a whole. The same batch again gives what is there.
-- callers: chancery_app (pic_human, reviewer, sovereign, escalation_handler, executor_worker)
-- arrow: ∅ → submitted, for each
-- locks: the batch (its turn), the jobs (no key update), so that of two proposals the second sees the first
-- refuses with: RE015 one of them cannot be replayed, RE016 the batch is empty, too large or another one, RI001–RI008, RI051, RS018
create or replace function queue.fn_dlq_replay_propose(
  p_batch_id uuid, p_job_ids uuid[], p_reason text, p_stagger_ms integer, p_actor_class text, p_principal text, p_key_id uuid default null, p_signatures bytea[] default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'queue.replay.max_batch');
  v_jobs uuid[] := array(select distinct j from unnest(p_job_ids) j where j is not null);
  v_against jsonb;
  v_digest bytea;
  v_request uuid;
  v_report jsonb;
  v_verified bytea[] := '{}';
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  if p_batch_id is null or coalesce(cardinality(p_job_ids), 0) = 0 or cardinality(p_job_ids) > v_most or cardinality(v_jobs) <> cardinality(p_job_ids)
     or internal.is_blank(p_reason) or p_stagger_ms is null or p_stagger_ms not between 0 and 3600000
     or (p_signatures is not null and cardinality(p_signatures) <> cardinality(p_job_ids)) then
    perform internal.refuse(internal.problem('RE016', jsonb_build_object(
      'batch_id', p_batch_id, 'jobs', cardinality(p_job_ids), 'distinct_jobs', cardinality(v_jobs), 'most', v_most, 'stagger_ms', p_stagger_ms, 'reason', p_reason)));
  end if;
  for v_no in 1 .. coalesce(cardinality(p_signatures), 0) loop
    v_verified[v_no] := (
      select fsm.require_move_signature('dlq_replay', internal.derived_uuid(p_batch_id, p_job_ids[v_no]::text), 'submitted', p_actor_class, 'rpc', 'dlq_replay_propose',
                                        jsonb_build_object('job_id', p_job_ids[v_no], 'batch_id', p_batch_id, 'reason', p_reason), p_principal, 'propose', p_reason,
                                        p_key_id, p_signatures[v_no], m.state_machine_id)
        from fsm.state_machine_def m where m.scope = 'dlq_replay' and m.active);
  end loop;
  perform internal.take_turn('queue.replay:' || p_batch_id);
  if exists (select from queue.dlq_replay_request r where r.batch_id = p_batch_id) then
    if array(select r.job_id from queue.dlq_replay_request r where r.batch_id = p_batch_id and r.started_by = p_principal and r.reason = p_reason and r.stagger_ms = p_stagger_ms order by r.batch_no) <> p_job_ids then
      perform internal.refuse(internal.problem('RE016', jsonb_build_object('batch_id', p_batch_id, 'why', 'the id stands for another batch')));
    end if;
    return queue.replay_report(p_batch_id) || '{"replayed": true}';
  end if;
  perform from queue.job_queue q where q.job_id = any (p_job_ids) order by q.job_id for no key update;
  select jsonb_object_agg(j, queue.replay_objection(j)) into v_against from unnest(p_job_ids) j where queue.replay_objection(j) is not null;
  if v_against is not null then
    perform internal.refuse(internal.problem('RE015', jsonb_build_object('job_ids', (select jsonb_agg(k) from jsonb_object_keys(v_against) k), 'why', v_against)));
  end if;
  for v_no in 1 .. cardinality(p_job_ids) loop
    v_request := internal.derived_uuid(p_batch_id, p_job_ids[v_no]::text);
    insert into queue.dlq_replay_request (
      dlq_replay_request_id, batch_id, batch_no, job_id, state_machine_id, proposal_state, seq, reason, stagger_ms, started_by, trace_id, correlation_id,
      created_at, last_transition_at)
    select v_request, p_batch_id, v_no, p_job_ids[v_no], m.state_machine_id, m.initial_state, 0, p_reason, p_stagger_ms, p_principal, d.trace_id, d.correlation_id,
           internal.now(), internal.now()
      from queue.job_dead_letter d, fsm.state_machine_def m where d.job_id = p_job_ids[v_no] and m.scope = 'dlq_replay' and m.active
    returning row_digest into v_digest;
    if not found then
      perform internal.refuse(internal.problem('RS018', '{"machine": "dlq_replay", "active": []}'));
    end if;
    v_report := fsm.move(v_request, 'dlq_replay', null, 'submitted', p_actor_class, 'rpc', 'dlq_replay_propose',
                         jsonb_build_object('job_id', p_job_ids[v_no], 'batch_id', p_batch_id, 'reason', p_reason),
                         p_principal, 'propose', p_reason, internal.artefact_digest(array[v_digest]), p_key_id, p_signatures[v_no],
                         p_verified => v_verified[v_no]);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end loop;
  return queue.replay_report(p_batch_id) || '{"replayed": false}';
end
$$;
