-- promise: one birth is a candidate of governance and announced, or its announcement waits in event_pending. True when announced.
-- callers: birth.fn_birth_handoff
-- arrow: ∅ → received → announced
-- refuses with: RS018
create or replace function birth.hand_over(p_birth_id uuid, p_collection text, p_code text, p_role text, p_principal text) returns boolean
language plpgsql
as $$
declare
  v_id uuid := internal.derived_uuid(p_birth_id, 'candidate');
  v_digest bytea;
  v_report jsonb;
  v_evidence jsonb := jsonb_build_object('event', jsonb_build_object(
    'object_type', p_collection, 'object_ref', p_code, 'change_kind', 'born', 'governance_role', p_role, 'birth_id', p_birth_id));
begin
  insert into governance.governance_candidate_state (
    candidate_id, birth_id, object_type, object_ref, state_machine_id, state, seq, started_by, trace_id, correlation_id, created_at, last_transition_at)
  select v_id, p_birth_id, p_collection, p_code, m.state_machine_id, m.initial_state, 0, p_principal, replace(p_birth_id::text, '-', ''), p_birth_id::text,
         internal.now(), internal.now()
    from fsm.state_machine_def m where m.scope = 'governance_candidate' and m.active
  returning row_digest into v_digest;
  if not found then
    perform internal.refuse(internal.problem('RS018', '{"machine": "governance_candidate", "active": []}'));
  end if;
  v_report := fsm.move(v_id, 'governance_candidate', null, 'received', 'system', 'event', 'object_born', '{}', p_principal, 'receive', null,
                       internal.artefact_digest(array[v_digest]), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  -- The event may be inactive, or its schema may have changed: that is nothing a birth has to wait for.
  v_report := fsm.move(v_id, 'governance_candidate', null, 'announced', 'system', 'event', 'handoff', v_evidence, p_principal, 'announce', null, null, null, null);
  if v_report -> 'ok' = 'true' then
    return true;
  end if;
  v_report := event.capture_pending('handoff.object_born', 'governance_candidate', v_id, 'announced', 'system', 'event', 'handoff', v_evidence, 'announce',
                                    v_report #>> '{problems,0,code}', p_principal);
  if v_report -> 'ok' = 'false' then
    perform governance.require_open('birth_handoff', 'critical', 'handoff_dlq', 'dlq', format('%s %s could not be handed over', p_collection, p_code), null,
                                    'birth', p_birth_id::text, jsonb_build_object('codes', jsonb_path_query_array(v_report, '$.problems[*].code')), p_principal);
  end if;
  return false;
end
$$;
