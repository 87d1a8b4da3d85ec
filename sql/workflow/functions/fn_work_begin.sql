-- promise: the work that a leased job is about is under way under this lease: claimed, tried again, or going on after a lost lease or a
--          wait. Gives what to work with. When there is nothing to do the answer says so (nothing_to_do) and the job is settled: so it is with
--          a step whose tasks are open, which waits for them. When the run is on hold the job goes back to the queue for a while (held).
-- callers: chancery_app (executor_worker); an agent signs the claim or the retry that this makes, a service need not
-- locks: the run of the workflow, the job
-- refuses with: RE010, RE011, RE018, RI001–RI008, RI051, RW…, RS…
create or replace function workflow.fn_work_begin(
  p_job_id uuid, p_lease_no integer, p_worker text, p_principal text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work;
  v_key constant text := 'chancery:begin:' || p_job_id || '#' || p_lease_no;
  v_run_state text;
  v_verified bytea;
  v_evidence constant jsonb := jsonb_build_object('audit_ref', 'job:' || p_job_id || '#' || p_lease_no, 'worker', p_worker);
  v_retry_evidence constant jsonb := v_evidence || jsonb_build_object('idempotency_key', v_key);
begin
  if p_signature is not null then
    v_work := (select workflow.peek(q.payload_json ->> 'run_kind', internal.uuid_or_null(q.payload_json ->> 'run_id')) from queue.job_queue q where q.job_id = p_job_id);
    v_verified := case v_work.state_code
      when 'ready' then workflow.require_call_signature(v_work.run_kind, v_work.run_id, v_work.run_kind || '_claim', v_evidence, p_principal,
                                                        'executor_worker', v_key, null, p_key_id, p_signature)
      when 'failed' then workflow.require_call_signature(v_work.run_kind, v_work.run_id, 'retry_attempt', v_retry_evidence, p_principal,
                                                         'executor_worker', v_key, null, p_key_id, p_signature) end;
  end if;
  v_work := workflow.require_lease(p_job_id, p_lease_no, p_worker, p_principal);
  select r.state_code into v_run_state from workflow.workflow_run r where r.workflow_run_id = v_work.workflow_run_id;
  if v_run_state = 'paused' and v_work.state_code in ('ready', 'failed') then
    update queue.job_queue q
       set state = 'queued', attempts = q.attempts - 1, lease_owner = null, lease_until = null, last_transition_at = internal.now(),
           scheduled_at = internal.now() + make_interval(secs => (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'workflow.hold_seconds'))
     where q.job_id = p_job_id;
    return jsonb_build_object('held', true, 'state', v_run_state);
  end if;
  if v_run_state = 'cancelled' or v_work.state_code not in ('ready', 'in_progress', 'overdue', 'failed') then
    perform queue.ack(queue.lease_owner(p_worker, p_principal, null), array[p_job_id], array[p_lease_no], '{succeeded}', array[jsonb_build_object('nothing_to_do', v_work.state_code)]);
    return jsonb_build_object('nothing_to_do', true, 'state', v_work.state_code, 'run_state', v_run_state);
  end if;
  if v_work.state_code = 'ready' then
    perform workflow.call(v_work, v_work.run_kind || '_claim', v_evidence, null, p_principal, 'executor_worker', v_key, null, p_key_id, p_signature, v_verified);
  elsif v_work.state_code = 'failed' then
    perform workflow.call(v_work, 'retry_attempt', v_retry_evidence, null, p_principal, 'executor_worker', v_key, null, p_key_id, p_signature, v_verified);
  end if;
  -- A lease that was lost leaves the work in progress: the next worker goes on with it.
  v_work := workflow.take(v_work.run_kind, v_work.run_id);
  if workflow.wait_for_tasks(v_work, 'chancery:tasks:' || p_job_id || '#' || p_lease_no) then
    v_work := workflow.peek(v_work.run_kind, v_work.run_id);
    perform queue.ack(queue.lease_owner(p_worker, p_principal, null), array[p_job_id], array[p_lease_no], '{succeeded}', array[jsonb_build_object('nothing_to_do', v_work.state_code)]);
    return jsonb_build_object('nothing_to_do', true, 'state', v_work.state_code, 'run_state', v_run_state);
  end if;
  return workflow.assignment(v_work, p_job_id);
end
$$;
