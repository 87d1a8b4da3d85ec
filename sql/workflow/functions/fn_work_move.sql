-- promise: what a person says about a step or task is done, whole or not at all: claim, release, wait, block, unblock, complete, declare
--          impossible, re-engage, escalate, reopen for correction, cancel. The call is the trigger that the machine names. The same key
--          gives the same answer.
-- callers: chancery_app (pic_human, task_pic_human, reviewer, escalation_handler), signed where a person's move is
-- locks: the run of the workflow, an approval where one is used, then see fsm.move
-- refuses with: RW001, RW002, RW006 the run is on hold or over, RW007 the wait is malformed, RW008 the output breaks its contract, RW009 a document is
--               malformed or not the one that was signed, RW020 executors report under their lease, RW022 the unit is not there, RA002, RA003, RA006,
--               RI001–RI008, RI051, RS…
create or replace function workflow.fn_work_move(
  p_run_kind text, p_run_id uuid, p_call text, p_evidence jsonb, p_document jsonb, p_principal text, p_actor_class text, p_idempotency_key text,
  p_reason text default null, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_verified bytea;
begin
  if p_actor_class in ('executor_worker', 'system', 'mow_orchestrator') then
    perform internal.refuse(internal.problem('RW020', jsonb_build_object('actor_class', p_actor_class)));
  end if;
  perform workflow.require_own_key(p_idempotency_key);
  v_verified := workflow.require_call_signature(p_run_kind, p_run_id, p_call, p_evidence, p_principal, p_actor_class, p_idempotency_key, p_reason, p_key_id,
                                                p_signature);
  return workflow.call(workflow.take(p_run_kind, p_run_id), p_call, p_evidence, p_document, p_principal, p_actor_class, p_idempotency_key, p_reason, p_key_id,
                       p_signature, v_verified);
end
$$;
