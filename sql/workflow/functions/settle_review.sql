-- promise: a proposal is where the votes about it say: in review, approved, rejected, or back with its writer when the time ran out. Says what
--          it did.
-- callers: workflow.fn_proposal_settle, workflow.fn_timer_fire
-- arrow: submitted → review → approved | rejected; review, approved → draft
-- locks: the proposal
create or replace function workflow.settle_review(p_run_kind text, p_run_id uuid) returns text
language plpgsql
as $$
declare
  v_run fsm.run_row;
  v_review record;
  v_move record;
  v_report jsonb;
  v_done text := 'nothing';
begin
  perform fsm.run_lock(p_run_kind, p_run_id);
  loop
    v_run := fsm.run_peek(p_run_kind, p_run_id);
    select * into v_review from workflow.review_of(p_run_kind, p_run_id);
    select m.to_state, m.trigger_kind, m.trigger_ref into v_move
      from (values ('submitted', 'pending', 'review', 'event', 'approval_requested'), ('submitted', 'approved', 'review', 'event', 'approval_requested'),
                   ('submitted', 'rejected', 'review', 'event', 'approval_requested'),
                   ('review', 'approved', 'approved', 'event', 'approval_decided'), ('review', 'rejected', 'rejected', 'event', 'approval_decided'),
                   ('review', 'expired', 'draft', 'timer', 'approval_expired'), ('approved', 'expired', 'draft', 'timer', 'approval_expired'))
             m (from_state, approval_state, to_state, trigger_kind, trigger_ref)
     where m.from_state = v_run.state_code and m.approval_state = v_review.state;
    exit when not found;
    v_report := fsm.move(p_run_id, p_run_kind, v_run.state_code, v_move.to_state, 'system', v_move.trigger_kind, v_move.trigger_ref,
                         jsonb_build_object('approval_id', v_review.approval_id), 'chancery', v_move.to_state || '/' || internal.uuid_v7(), null, null, null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
    v_done := v_move.to_state;
    if p_run_kind = 'workflow_change' then
      update workflow.workflow_change_requests c set approval_id = v_review.approval_id where c.change_request_id = p_run_id;
    else
      update governance.proposal p set approval_id = v_review.approval_id where p.proposal_id = p_run_id;
    end if;
  end loop;
  if v_run.state_code in ('review', 'approved') then
    perform workflow.set_timer('approval_expiry', v_review.expires_at, p_run_kind, p_run_id, null);
  end if;
  return v_done;
end
$$;
