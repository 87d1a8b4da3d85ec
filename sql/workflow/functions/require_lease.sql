-- promise: the job is leased by this worker under this number, is the newest one of its work, and stays so until the transaction ends;
--          gives the work, taken. A worker that was stopped and comes back late finds another number here.
-- locks: the run of the workflow, then the job
-- refuses with: RE010 the lease is lost, RE011 no such job, RE018, RI001–RI004, RW001, RW025 another job does this work now
create or replace function workflow.require_lease(p_job_id uuid, p_lease_no integer, p_worker text, p_principal text) returns workflow.work
language plpgsql
as $$
declare
  v_owner constant text := queue.lease_owner(p_worker, p_principal, null);
  v_job record;
  v_work workflow.work;
begin
  select q.payload_json ->> 'run_kind' as run_kind, internal.uuid_or_null(q.payload_json ->> 'run_id') as run_id into v_job
    from queue.job_queue q where q.job_id = p_job_id and q.job_kind in ('workflow.step', 'workflow.task');
  if found then
    v_work := workflow.take(v_job.run_kind, v_job.run_id);
  end if;
  select q.state, q.lease_no, q.lease_owner, q.idempotency_key, q.replay_request_id into v_job
    from queue.job_queue q where q.job_id = p_job_id for update;
  if not found or v_work.run_id is null then
    perform internal.refuse(internal.problem('RE011', jsonb_build_object('job_id', p_job_id)));
  elsif v_job.lease_no is distinct from p_lease_no or v_job.lease_owner is distinct from v_owner or v_job.state not in ('leased', 'in_progress') then
    perform internal.refuse(internal.problem('RE010', jsonb_build_object('job_id', p_job_id, 'lease_no', p_lease_no, 'state', v_job.state, 'newest_lease_no', v_job.lease_no)));
  elsif v_job.idempotency_key <> v_work.run_id || '/' || v_work.work_no and v_job.replay_request_id is null then
    perform internal.refuse(internal.problem('RW025', jsonb_build_object('job_id', p_job_id, 'run_id', v_work.run_id, 'state', v_work.state_code)));
  end if;
  return v_work;
end
$$;
