-- promise: the run is failed or stopped where it stands, with its stop-route report in the knowledge base. A stop of the sovereign is
--          signed, so the evidence is stored exactly as it was given; a run that is stopped already stays as it is.
-- callers: cutter_exec (executor_dot991), chancery_app and cutter_review (sovereign)
-- arrow: any main state → failed_… (its own gate only) | stopped_…
-- locks: the run (update)
-- refuses with: RO001, RO005 there is no such way from here, RA020, RI001–RI008, RI051, RS…
create or replace function orchestrator.fn_orchestrate_halt(
  p_run_id uuid, p_to_state text, p_evidence jsonb, p_document text, p_principal text, p_actor_class text, p_reason text, p_idempotency_key text,
  p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_transition record;
  v_document record;
  v_report jsonb;
  v_verified bytea;
begin
  v_verified := (
    select fsm.require_move_signature('orchestrator_run', p_run_id, p_to_state, p_actor_class, t.trigger_kind, t.trigger_ref, p_evidence, p_principal,
                                      p_idempotency_key, p_reason, p_key_id, p_signature)
      from orchestrator.run r
      join fsm.transition_def t on t.state_machine_id = r.state_machine_id and t.from_state = r.state_code and t.to_state = p_to_state and t.actor_class = p_actor_class
     where r.run_id = p_run_id and p_signature is not null);
  v_run := orchestrator.require_run(p_run_id);
  if exists (select from fsm.transition_log l where l.run_id = p_run_id and l.idempotency_key = p_idempotency_key) then
    return orchestrator.report(p_run_id, '{"replayed": true}');
  end if;
  -- To stop what is stopped is to find it so.
  if v_run.state_code = p_to_state and starts_with(p_to_state, 'stopped_') and p_actor_class = 'sovereign' then
    perform identity.require_actor(p_principal, p_actor_class);
    return orchestrator.report(p_run_id, '{"replayed": true}');
  end if;
  select t.trigger_kind, t.trigger_ref into v_transition from fsm.transition_def t
   where t.state_machine_id = v_run.state_machine_id and t.from_state = v_run.state_code and t.to_state = p_to_state and t.actor_class = p_actor_class
     and p_to_state ~ '^(failed|stopped)_';
  if not found then
    perform internal.refuse(internal.problem('RO005', jsonb_build_object(
      'run_id', v_run.run_name, 'state', v_run.state_code, 'gate', p_to_state, 'actor_class', p_actor_class)));
  end if;
  v_document := orchestrator.put_document(v_run, 'stop-route-report-' || v_run.seq + 1, 'report', p_document, p_principal, p_actor_class);
  v_report := fsm.move(p_run_id, 'orchestrator_run', v_run.state_code, p_to_state, p_actor_class, v_transition.trigger_kind, v_transition.trigger_ref, p_evidence,
                       p_principal, p_idempotency_key, p_reason, internal.artefact_digest(array[v_document.digest]), p_key_id, p_signature,
                       p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return orchestrator.report(p_run_id, jsonb_build_object('kb_doc_id', v_document.path));
end
$$;
