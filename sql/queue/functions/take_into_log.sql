-- promise: the job, locked, has what the engine needs to move it: a place in the log to start from.
-- refuses with: RE011 no such job, RE012 it is done
create or replace function queue.take_into_log(p_job_id uuid) returns queue.job_queue
language plpgsql
as $$
declare
  v_job queue.job_queue;
begin
  perform fsm.require_fresh_reads();
  select q.* into v_job from queue.job_queue q where q.job_id = p_job_id for update;
  if not found then
    if exists (select from queue.job_finished f where f.job_id = p_job_id) then
      perform internal.refuse(internal.problem('RE012', jsonb_build_object('job_id', p_job_id, 'state', 'succeeded')));
    end if;
    perform internal.refuse(internal.problem('RE011', jsonb_build_object('job_id', p_job_id)));
  end if;
  if v_job.seq = 0 then
    update queue.job_queue q set seq = 1, head_hash = queue.genesis(p_job_id) where q.job_id = p_job_id;
  end if;
  return v_job;
end
$$;
