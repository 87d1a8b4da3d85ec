-- promise: each submitted request of the approved batch has a job of its own in the queue, one after the other as the batch says, under a
--          fresh key that points at its request and so at the original. The original stays. Doing it again gives what is there.
-- callers: chancery_app (whoever may propose; the approval is somebody else's)
-- arrow: submitted → scheduled, for each
-- locks: the batch (its turn), the approval
-- refuses with: RE016 no such batch, RE017 nothing of it is submitted any more, RA002, RA003, RA006, RI001–RI004
create or replace function queue.fn_dlq_replay(p_batch_id uuid, p_approval_id uuid, p_actor_class text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_proposer text;
  v_asked_by text;
  v_request record;
  v_key text;
  v_job uuid;
  v_jobs queue.job_request[] := '{}';
  v_one queue.job_request;
  v_report jsonb;
  v_place integer := 0;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  if exists (select from fsm.state_machine_def m where m.scope = 'dlq_replay' and m.active and not exists (
               select from fsm.transition_def t where t.state_machine_id = m.state_machine_id and t.from_state is null and t.actor_class = p_actor_class)) then
    perform internal.refuse(internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class)));
  end if;
  perform internal.take_turn('queue.replay:' || p_batch_id);
  select r.started_by into v_proposer from queue.dlq_replay_request r where r.batch_id = p_batch_id limit 1;
  if not found then
    perform internal.refuse(internal.problem('RE016', jsonb_build_object('batch_id', p_batch_id, 'why', 'there is no such batch')));
  end if;
  -- Whoever asks does not vote. So who proposed the batch must be who asked, or they could vote on what somebody else asked for them.
  select a.proposer into v_asked_by from approval.approval_request a where a.approval_id = p_approval_id and a.proposer <> v_proposer;
  if found then
    perform internal.refuse(internal.problem('RA003', jsonb_build_object(
      'approval_id', p_approval_id, 'differs_in', 'proposer', 'approved', v_asked_by, 'asked', v_proposer)));
  end if;
  if not approval.consume(p_approval_id, 'dlq_replay', p_batch_id::text, queue.replay_digest(p_batch_id), 'dlq_replay', p_batch_id::text, p_principal) then
    return queue.replay_report(p_batch_id) || '{"replayed": true}';
  end if;
  if not exists (select from queue.dlq_replay_request r where r.batch_id = p_batch_id and r.proposal_state = 'submitted') then
    perform internal.refuse(internal.problem('RE017', jsonb_build_object('batch_id', p_batch_id)));
  end if;
  for v_request in
    select r.*, d.executor_class, d.job_kind, d.payload, d.payload_ref, d.source_ref, d.target_ref, d.priority, d.max_attempts
      from queue.dlq_replay_request r join queue.job_dead_letter d using (job_id)
     where r.batch_id = p_batch_id and r.proposal_state = 'submitted' order by r.batch_no
  loop
    v_key := 'replay:' || v_request.dlq_replay_request_id;
    v_job := queue.job_id(v_request.executor_class, v_key);
    v_one := row(v_request.executor_class, v_request.job_kind, v_key, v_request.payload::jsonb, v_request.payload_ref, v_request.source_ref, v_request.target_ref,
                 v_request.priority, null, v_place::bigint * v_request.stagger_ms, v_request.max_attempts, v_request.trace_id, v_request.correlation_id, null,
                 v_request.dlq_replay_request_id);
    v_jobs := v_jobs || v_one;
    v_place := v_place + 1;
    update queue.dlq_replay_request r set approval_id = p_approval_id, replay_job_id = v_job where r.dlq_replay_request_id = v_request.dlq_replay_request_id;
    v_report := fsm.move(v_request.dlq_replay_request_id, 'dlq_replay', 'submitted', 'scheduled', 'system', 'rpc', 'dlq_replay',
                         jsonb_build_object('approval_id', p_approval_id, 'replay_job_id', v_job, 'asked_by', p_principal,
                                            'event', jsonb_build_object('approval_id', p_approval_id, 'replay_job_id', v_job)),
                         'chancery', 'schedule', null, null, null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end loop;
  perform queue.enqueue(v_jobs, p_principal);
  return queue.replay_report(p_batch_id) || '{"replayed": false}';
end
$$;
