-- promise: a proposal of a workflow or of anything else is handed in or taken back by who wrote it; its newest text is pinned by its digest.
--          Where a call leads is the machine's: what was handed in is a draft again, and a draft is given up. The same key gives the same answer.
-- callers: chancery_app (who may propose), signed where a person's move is
-- arrow: draft → submitted (submit), submitted → draft (withdraw), draft → withdrawn (withdraw)
-- locks: the proposal
-- refuses with: RW001, RW002, RW020, RI001–RI008, RI051, RS…
create or replace function workflow.fn_proposal_move(
  p_run_kind text, p_run_id uuid, p_call text, p_evidence jsonb, p_principal text, p_actor_class text, p_idempotency_key text, p_reason text default null,
  p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_report jsonb;
  v_target record;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  -- The machine has more calls; those are made by doors of their own.
  if p_call not in ('submit', 'withdraw') or p_call is null or p_run_kind not in ('workflow_change', 'proposal') or p_run_kind is null then
    perform internal.refuse(internal.problem('RW002', jsonb_build_object('call', p_call, 'kind', p_run_kind, 'calls', '["submit", "withdraw"]'::jsonb)));
  end if;
  v_verified := workflow.require_call_signature(p_run_kind, p_run_id, p_call, p_evidence, p_principal, p_actor_class, p_idempotency_key, p_reason, p_key_id,
                                                p_signature);
  perform fsm.run_lock(p_run_kind, p_run_id);
  if (fsm.run_peek(p_run_kind, p_run_id)).seq is null then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', p_run_kind, 'id', p_run_id)));
  end if;
  v_report := fsm.request_problems(p_run_kind, p_evidence, p_idempotency_key, p_principal);
  if v_report is not null then
    perform internal.refuse(v_report);
  end if;
  if workflow.replay(p_run_id, p_call, p_evidence, p_principal, p_reason, p_idempotency_key) is not null then
    return workflow.proposal_report(p_run_kind, p_run_id) || '{"replayed": true}';
  end if;
  select * into v_target from workflow.target_of(p_run_kind, p_run_id, p_call, p_actor_class);
  v_report := fsm.move(p_run_id, p_run_kind, null, v_target.to_state, p_actor_class, v_target.trigger_kind, p_call, p_evidence, p_principal, p_idempotency_key, p_reason, null, p_key_id, p_signature,
                       p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return workflow.proposal_report(p_run_kind, p_run_id) || jsonb_build_object('replayed', v_report -> 'replayed');
end
$$;
