-- promise: a move of a run, and with it the freeze of its colour: it stands still exactly while the run is on hold, and is what the counts
--          say as soon as it goes on.
-- callers: workflow.fn_workflow_move, workflow.fn_mow_turn, with the run locked
create or replace function workflow.move_run(
  p_workflow_run_id uuid, p_from text, p_to text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text,
  p_idempotency_key text, p_reason text, p_key_id uuid, p_signature bytea, p_verified bytea default null
) returns jsonb
language plpgsql
as $$
declare
  v_report jsonb;
begin
  v_report := fsm.move(p_workflow_run_id, 'workflow_run', p_from, p_to, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, p_idempotency_key,
                       p_reason, null, p_key_id, p_signature, p_verified => p_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  if p_to = 'paused' then
    update workflow.workflow_run r set frozen_at = r.last_transition_at where r.workflow_run_id = p_workflow_run_id;
  elsif p_from = 'paused' then
    update workflow.workflow_run r set frozen_at = null where r.workflow_run_id = p_workflow_run_id;
    -- A step that is and stays yellow changes no count, and brings the colour up to date.
    perform workflow.rollup_apply(p_workflow_run_id, 'yellow', 'yellow', 0, 0, 0, 0);
  end if;
  return v_report;
end
$$;
