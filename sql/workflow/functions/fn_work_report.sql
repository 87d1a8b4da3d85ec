-- promise: what an executor reports about its work is done, and its job is settled with it, in one transaction: done, failed, waiting,
--          blocked or impossible. Only under the newest lease. The same report again gives the first answer.
-- callers: chancery_app (executor_worker); an agent signs its report, a service need not
-- locks: the run of the workflow, the job
-- refuses with: RE010, RE011, RE018, RI001–RI008, RI051, RW002, RW007–RW009, RW024, RW025, RS…
create or replace function workflow.fn_work_report(
  p_job_id uuid, p_lease_no integer, p_worker text, p_principal text, p_call text, p_evidence jsonb, p_document jsonb,
  p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant text := 'chancery:report:' || p_job_id || '#' || p_lease_no;
  v_evidence constant jsonb := coalesce(p_evidence, '{}') || jsonb_build_object('audit_ref', 'job:' || p_job_id || '#' || p_lease_no, 'worker', p_worker);
  v_owner constant text := queue.lease_owner(p_worker, p_principal, null);
  v_done record;
  v_work workflow.work;
  v_report jsonb;
  v_verified bytea;
begin
  -- The job is settled with the move, so a repetition finds it done.
  select f.payload_json into v_done from queue.job_finished f where f.job_id = p_job_id and f.lease_no = p_lease_no and f.lease_owner = v_owner limit 1;
  if not found then
    -- A failed one waits for its next try under the same lease number.
    select q.payload_json into v_done from queue.job_queue q
     where q.job_id = p_job_id and q.lease_no = p_lease_no and q.lease_owner is null and q.state in ('retry_waiting', 'dead_letter');
  end if;
  if found then
    v_report := workflow.replay(internal.uuid_or_null(v_done.payload_json ->> 'run_id'), p_call, v_evidence, p_principal, null, v_key);
    if v_report is not null then
      return v_report;
    end if;
  end if;
  if p_signature is not null then
    v_verified := (
      select workflow.require_call_signature(q.payload_json ->> 'run_kind', internal.uuid_or_null(q.payload_json ->> 'run_id'), p_call, v_evidence, p_principal,
                                             'executor_worker', v_key, null, p_key_id, p_signature)
        from queue.job_queue q where q.job_id = p_job_id);
  end if;
  v_work := workflow.require_lease(p_job_id, p_lease_no, p_worker, p_principal);
  v_report := workflow.call(v_work, p_call, v_evidence, p_document, p_principal, 'executor_worker', v_key, null, p_key_id, p_signature, v_verified);
  perform queue.ack(v_owner, array[p_job_id], array[p_lease_no],
    array[case when p_call <> 'executor_failure' then 'succeeded' when p_evidence ->> 'classification' = 'permanent' then 'failed_for_good' else 'failed' end],
    array[case when p_call = 'executor_failure' then jsonb_build_object('reason', coalesce(p_evidence ->> 'detail', p_evidence ->> 'failure_class', 'failed'))
          else jsonb_build_object('call', p_call, 'seq', v_report -> 'seq') end]);
  return v_report;
end
$$;
