-- promise: a batch of replays as the doors report it, with the digest that its approval must be about.
create or replace function queue.replay_report(p_batch_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object('batch_id', p_batch_id, 'subject_digest', encode(queue.replay_digest(p_batch_id), 'hex'), 'requests', jsonb_agg(jsonb_build_object(
           'dlq_replay_request_id', r.dlq_replay_request_id, 'job_id', r.job_id, 'state', r.proposal_state, 'approval_id', r.approval_id,
           'replay_job_id', r.replay_job_id, 'outcome', r.outcome_jsonb) order by r.batch_no))
    from queue.dlq_replay_request r where r.batch_id = p_batch_id
$$;
