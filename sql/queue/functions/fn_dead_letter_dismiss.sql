-- promise: the dead letter is settled without a replay, by a person who says why. The letter itself stays.
-- callers: chancery_app (reviewer, sovereign)
-- arrow: dead_letter → cleaned
-- locks: the job (update)
-- refuses with: RE011 no such job, RE012 it is done, RE015 a replay of it is under way, RI001–RI008, RI051, RS…
create or replace function queue.fn_dead_letter_dismiss(
  p_job_id uuid, p_reason text, p_actor_class text, p_principal text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_job queue.job_queue;
  v_open uuid;
  v_report jsonb;
  v_evidence constant jsonb := jsonb_build_object('reason', p_reason);
  v_verified constant bytea := fsm.require_move_signature('job', p_job_id, 'cleaned', p_actor_class, 'rpc', 'job_dismiss', v_evidence, p_principal, p_idempotency_key,
                                                          p_reason, p_key_id, p_signature);
begin
  v_job := queue.take_into_log(p_job_id);
  select r.dlq_replay_request_id into v_open from queue.dlq_replay_request r where r.job_id = p_job_id and r.proposal_state in ('submitted', 'scheduled');
  if found and v_job.state = 'dead_letter' then
    perform internal.refuse(internal.problem('RE015', jsonb_build_object('job_ids', jsonb_build_array(p_job_id), 'why', 'a replay is proposed or under way', 'dlq_replay_request_id', v_open)));
  end if;
  v_report := fsm.move(p_job_id, 'job', null, 'cleaned', p_actor_class, 'rpc', 'job_dismiss', v_evidence,
                       p_principal, p_idempotency_key, p_reason, null, p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return v_report;
end
$$;
