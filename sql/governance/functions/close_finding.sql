-- promise: the finding is closed as the caller says, through the engine, with its event. False when it was closed before.
-- callers: doors of all rooms that know that the cause is gone
-- arrow: open | acknowledged → resolved | recovered | healed
-- locks: the finding (update), after the locks of the room
-- refuses with: RS… when the evidence does not say what the machine asks for
create or replace function governance.close_finding(p_issue_id uuid, p_how text, p_evidence jsonb, p_principal text) returns boolean
language plpgsql
as $$
declare
  v_report jsonb;
begin
  perform from governance.system_issues i where i.issue_id = p_issue_id and i.state in ('open', 'acknowledged') for update;
  if not found then
    return false;
  end if;
  v_report := fsm.move(
    p_issue_id, 'finding', null, p_how, governance.acting_class(p_principal, '{system,mow_orchestrator,executor_worker,executor_dot991,verifier_dot992}'),
    'condition_resolved',
    case p_how when 'resolved' then 'cause_gone' when 'recovered' then 'ticked_again' when 'healed' then 'back_under_threshold' end,
    p_evidence, p_principal, 'close', null, null, null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return true;
end
$$;
