-- promise: what was approved is recorded as carried out, with what came of it; the approval is used for it. The change itself is made by the
--          doors of what it is about.
-- callers: chancery_app (pic_human, reviewer, sovereign), signed where a person's move is
-- arrow: approved → merged
-- locks: the proposal, the approval
-- refuses with: RW001, RA002, RA003, RA006, RI001–RI008, RI051, RS…
create or replace function governance.fn_proposal_carry_out(
  p_proposal_id uuid, p_outcome jsonb, p_evidence jsonb, p_principal text, p_actor_class text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_proposal governance.proposal;
  v_report jsonb;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  v_verified := fsm.require_move_signature('proposal', p_proposal_id, 'merged', p_actor_class, 'rpc', 'merge', p_evidence, p_principal, p_idempotency_key, null,
                                           p_key_id, p_signature);
  perform fsm.run_lock('proposal', p_proposal_id);
  select p.* into v_proposal from governance.proposal p where p.proposal_id = p_proposal_id;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'proposal', 'id', p_proposal_id)));
  end if;
  v_report := fsm.request_problems('proposal', p_evidence, p_idempotency_key, p_principal);
  if v_report is not null then
    perform internal.refuse(v_report);
  end if;
  if workflow.replay(p_proposal_id, 'merge', p_evidence, p_principal, null, p_idempotency_key) is not null then
    return workflow.proposal_report('proposal', p_proposal_id) || '{"replayed": true}';
  end if;
  if v_proposal.proposal_state = 'approved' then
    perform approval.consume(v_proposal.approval_id, 'proposal', p_proposal_id::text, v_proposal.action_sha256, 'proposal', p_proposal_id || '/' || p_idempotency_key, p_principal);
    update governance.proposal p set outcome = p_outcome where p.proposal_id = p_proposal_id;
    delete from workflow.timer t where t.run_id = p_proposal_id;
  end if;
  v_report := fsm.move(p_proposal_id, 'proposal', null, 'merged', p_actor_class, 'rpc', 'merge', p_evidence, p_principal, p_idempotency_key, null, null, p_key_id, p_signature,
                       p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return workflow.proposal_report('proposal', p_proposal_id) || '{"replayed": false}';
end
$$;
