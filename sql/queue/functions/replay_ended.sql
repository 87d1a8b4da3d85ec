-- promise: the request knows what became of its job, with dlq_replay.completed; when it was done, the original dead letter is settled.
-- callers: queue.ack_rest, queue.die, queue.fn_job_cancel
create or replace function queue.replay_ended(p_request_id uuid, p_outcome text, p_detail jsonb) returns void
language plpgsql
as $$
declare
  v_request queue.dlq_replay_request;
  v_report jsonb;
begin
  update queue.dlq_replay_request r
     set outcome_jsonb = jsonb_build_object('outcome', p_outcome, 'detail', p_detail)
   where r.dlq_replay_request_id = p_request_id
  returning r.* into strict v_request;
  v_report := fsm.move(p_request_id, 'dlq_replay', 'scheduled', 'completed', 'system', 'event', 'job_ended',
                       jsonb_build_object('outcome', p_outcome, 'replay_job_id', v_request.replay_job_id,
                                          'event', jsonb_build_object('outcome', p_outcome, 'replay_job_id', v_request.replay_job_id)),
                       'chancery', 'complete', null, null, null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  if p_outcome = 'succeeded' then
    v_report := fsm.move(v_request.job_id, 'job', 'dead_letter', 'cleaned', 'system', 'event', 'replay_succeeded',
                         jsonb_build_object('dlq_replay_request_id', p_request_id, 'replay_job_id', v_request.replay_job_id),
                         'chancery', 'replay:' || p_request_id, null, null, null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end if;
end
$$;
