-- promise: the block counts as red from now on, by a decision on record; its state stays blocked. One that lasts longer than its class of
--          workflow bears needs an approval.
-- callers: chancery_app (pic_human, reviewer, escalation_handler)
-- locks: the run of the workflow, the approval
-- refuses with: RW001, RW006 its run was called off, RW017 an approval is needed, RW018 it is not blocked, RA002, RA003, RA006, RI001–RI004, RS012, RS013
create or replace function workflow.fn_step_block_escalate(
  p_run_kind text, p_run_id uuid, p_approval_id uuid, p_reason text, p_principal text, p_actor_class text, p_idempotency_key text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work;
  v_limit interval;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  v_work := workflow.take(p_run_kind, p_run_id);
  if p_actor_class not in ('pic_human', 'reviewer', 'escalation_handler') then
    perform internal.refuse(internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class)));
  end if;
  if workflow.decide(v_work, 'block_escalated', jsonb_build_object('reason', p_reason, 'approval_id', p_approval_id), p_principal, p_actor_class, p_approval_id,
                     p_idempotency_key) is null then
    return jsonb_build_object('run_id', p_run_id, 'state', v_work.state_code, 'severity', workflow.severity(v_work), 'replayed', true);
  end if;
  perform workflow.require_live_run(v_work);
  if v_work.state_code <> 'blocked' then
    perform internal.refuse(internal.problem('RW018', jsonb_build_object('run_id', p_run_id, 'state', v_work.state_code)));
  end if;
  select workflow.class_limit('block_severity.approval_after_seconds', r.workflow_class) into v_limit
    from workflow.workflow_run r where r.workflow_run_id = v_work.workflow_run_id;
  if v_work.blocked_since < internal.now() - v_limit then
    if p_approval_id is null then
      perform internal.refuse(internal.problem('RW017', jsonb_build_object('run_id', p_run_id, 'blocked_since', v_work.blocked_since, 'limit_seconds', extract(epoch from v_limit))));
    end if;
    perform approval.consume(p_approval_id, 'block_escalation', p_run_id::text, null, p_run_kind, p_run_id || '/' || p_idempotency_key, p_principal);
  end if;
  v_work.block_escalated_at := internal.now();
  perform workflow.recolour(v_work);
  return jsonb_build_object('run_id', p_run_id, 'state', v_work.state_code, 'severity', workflow.severity(v_work), 'replayed', false);
end
$$;
