-- promise: a call-back with this digest of its token is expected for the work under this lease. Issued before the call goes out, so that
--          an answer cannot come too early.
-- callers: chancery_app (executor_worker)
-- locks: the run of the workflow, the job
-- refuses with: RE010, RE011, RW012 the token stands for something else, RW025
create or replace function workflow.fn_callback_issue(p_job_id uuid, p_lease_no integer, p_worker text, p_principal text, p_token_sha256 bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.require_lease(p_job_id, p_lease_no, p_worker, p_principal);
  v_wait_id uuid;
begin
  if octet_length(p_token_sha256) is distinct from 32 then
    perform internal.refuse(internal.problem('RW012', jsonb_build_object('run_id', v_work.run_id)));
  end if;
  insert into workflow.wait (wait_id, run_kind, run_id, workflow_run_id, facet, token_sha256, cycle_no, attempt, issued_at, opened)
  values (internal.derived_uuid(v_work.run_id, 'callback,' || encode(p_token_sha256, 'hex')), v_work.run_kind, v_work.run_id, v_work.workflow_run_id,
          'waiting_external', p_token_sha256, v_work.cycle_no, v_work.retry_count, internal.now(), false)
  on conflict do nothing;
  select w.wait_id into v_wait_id from workflow.wait w where w.token_sha256 = p_token_sha256 and w.run_id = v_work.run_id;
  if not found then
    perform internal.refuse(internal.problem('RW012', jsonb_build_object('run_id', v_work.run_id)));
  end if;
  return jsonb_build_object('wait_id', v_wait_id);
end
$$;
