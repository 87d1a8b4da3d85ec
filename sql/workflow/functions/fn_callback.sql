-- promise: the call-back is taken, once, with what it brings as proof; the work that waits for it goes on. Who calls has nothing but the token.
-- callers: chancery_app, for whoever has the token
-- locks: the run of the workflow, the wait
-- refuses with: RW009 the document, RW012 no such token, RW013 used, RW014 the work moved on or its run was called off
create or replace function workflow.fn_callback(p_token_sha256 bytea, p_document jsonb) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_wait workflow.wait;
  v_work workflow.work;
begin
  select w.* into v_wait from workflow.wait w where w.token_sha256 = p_token_sha256;
  if not found then
    perform internal.refuse(internal.problem('RW012', '{}'));
  end if;
  perform workflow.require_document('answer', p_document, encode(sha256(convert_to(internal.canonical_json(coalesce(p_document, 'null')), 'UTF8')), 'hex'));
  v_work := workflow.take(v_wait.run_kind, v_wait.run_id);
  select w.* into v_wait from workflow.wait w where w.wait_id = v_wait.wait_id for update;
  if v_wait.cycle_no <> v_work.cycle_no or v_wait.attempt <> v_work.retry_count or v_work.state_code not in ('in_progress', 'overdue', 'waiting')
     or workflow.is_called_off(v_work) then
    perform internal.refuse(internal.problem('RW014', jsonb_build_object('run_id', v_wait.run_id, 'state', v_work.state_code)));
  elsif v_wait.resolved_at is not null then
    perform internal.refuse(internal.problem('RW013', jsonb_build_object('run_id', v_wait.run_id, 'used_at', v_wait.resolved_at)));
  end if;
  perform workflow.resolve_wait(v_wait.wait_id, jsonb_build_object('answer', p_document), 'chancery');
  return jsonb_build_object('run_kind', v_wait.run_kind, 'run_id', v_wait.run_id, 'resumed', v_wait.opened and workflow.resume_if_resolved(v_wait.run_kind, v_wait.run_id));
end
$$;
