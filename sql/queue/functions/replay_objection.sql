-- promise: why this dead job cannot be proposed for replay, in a word; null when it can.
create or replace function queue.replay_objection(p_job_id uuid) returns text
language sql stable
as $$
  select case
    when q.state is null or d.job_id is null then 'not_a_dead_letter'
    when q.state <> 'dead_letter' then 'settled'
    when exists (select from queue.dlq_replay_request r where r.job_id = p_job_id and r.proposal_state in ('submitted', 'scheduled')) then 'replay_is_open'
    when not exists (select from queue.executor_class_registry c where c.executor_class = d.executor_class and c.active) then 'executor_class_inactive' end
    from (select 1) one left join queue.job_queue q on q.job_id = p_job_id left join queue.job_dead_letter d on d.job_id = p_job_id
$$;
