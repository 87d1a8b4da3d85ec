-- promise: the job will not be done: it is cancelled with a reason, through the engine and the log. A worker that has it finds its
--          result refused.
-- callers: chancery_app (pic_human, reviewer, sovereign, escalation_handler)
-- arrow: queued, retry_waiting, leased, in_progress → cancelled
-- locks: the job (update)
-- refuses with: RE011 no such job, RE012 it is done, RI001–RI008, RI051, RS…
create or replace function queue.fn_job_cancel(
  p_job_id uuid, p_reason text, p_actor_class text, p_principal text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_job queue.job_queue;
  v_report jsonb;
  v_evidence constant jsonb := jsonb_build_object('reason', p_reason);
  v_verified constant bytea := fsm.require_move_signature('job', p_job_id, 'cancelled', p_actor_class, 'rpc', 'job_cancel', v_evidence, p_principal, p_idempotency_key,
                                                          p_reason, p_key_id, p_signature);
begin
  v_job := queue.take_into_log(p_job_id);
  v_report := fsm.move(p_job_id, 'job', null, 'cancelled', p_actor_class, 'rpc', 'job_cancel', v_evidence,
                       p_principal, p_idempotency_key, p_reason, null, p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  update queue.job_queue q set lease_owner = null, lease_until = null, scheduled_at = 'infinity' where q.job_id = p_job_id and q.scheduled_at <> 'infinity';
  if v_job.replay_request_id is not null and v_job.state <> 'cancelled' then
    perform queue.replay_ended(v_job.replay_request_id, 'cancelled', jsonb_build_object('reason', p_reason));
  end if;
  return v_report;
end
$$;
