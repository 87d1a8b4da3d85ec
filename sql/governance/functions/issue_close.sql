-- promise: no finding of this type about this thing is open. What closed it, an event or a reason, stands in its log.
--          Gives the finding that was closed now; null when none was open.
-- callers: doors of all rooms that know that the cause is gone
-- arrow: open | acknowledged → resolved | recovered | healed
-- locks: the finding (update), after the locks of the room
-- refuses with: RS… when the evidence does not say what the machine asks for
create or replace function governance.issue_close(
  p_issue_type text, p_entity_type text, p_entity_code text, p_how text, p_cause text, p_principal text, p_evidence jsonb default '{}',
  p_source_event_id uuid default null
) returns uuid
language plpgsql
as $$
declare
  v_issue_id uuid;
begin
  select i.issue_id into v_issue_id from governance.system_issues i
   where i.fingerprint = governance.fingerprint(p_issue_type, p_entity_type, p_entity_code, null, null) and i.state in ('open', 'acknowledged');
  if v_issue_id is not null and governance.close_finding(
       v_issue_id, p_how,
       coalesce(p_evidence, '{}') || jsonb_strip_nulls(jsonb_build_object('cause', p_cause, 'source_event_id', p_source_event_id)), p_principal) then
    return v_issue_id;
  end if;
  return null;
end
$$;
