-- promise: the run is past the gate: its receipt is in the knowledge base, every invariant held, and the log says so with what was pinned.
--          p_digests are those of the rows that the phase wrote in this transaction.
-- callers: the doors of this room, with the run locked
-- refuses with: RO002 an invariant is violated, RO005 the gate is not the next one, RA020, RI001–RI004, RS…
create or replace function orchestrator.pass(
  p_run orchestrator.run, p_gate text, p_evidence jsonb, p_document text, p_principal text, p_actor_class text, p_digests bytea[]
) returns jsonb
language plpgsql
as $$
declare
  v_transition record;
  v_document record := null;
  v_invariants jsonb;
  v_evidence jsonb;
  v_report jsonb;
begin
  select t.to_state, t.trigger_kind, t.trigger_ref, t.guard_ids into v_transition
    from fsm.transition_def t
   where t.state_machine_id = p_run.state_machine_id and t.from_state = p_run.state_code and t.label = p_gate and t.actor_class = p_actor_class;
  if not found then
    perform internal.refuse(internal.problem('RO005', jsonb_build_object(
      'run_id', p_run.run_name, 'state', p_run.state_code, 'gate', p_gate, 'actor_class', p_actor_class)));
  end if;
  -- A request is itself what its gate looks at; a receipt says what its gate found.
  if right(p_gate, 8) = '_request' then
    v_document := orchestrator.put_document(p_run, p_gate, 'request', p_document, p_principal, p_actor_class);
  end if;
  select jsonb_object_agg(i.key, i.value) into v_invariants
    from unnest(v_transition.guard_ids) g (gate), jsonb_each(orchestrator.gate_invariants(g.gate, p_run.run_id, p_evidence)) i;
  if not orchestrator.holds(v_invariants) then
    perform internal.refuse(internal.problem('RO002', jsonb_build_object(
      'run_id', p_run.run_name, 'gate', p_gate, 'invariants', v_invariants,
      'violated', (select jsonb_agg(i.key order by i.key) from jsonb_each(v_invariants) i where i.value <> 'true'))
      || orchestrator.blockers(p_run, v_invariants)));
  end if;
  if v_document is null then
    v_document := orchestrator.put_document(
      p_run, p_gate, 'receipt',
      p_document || E'\n## Invariants\n\n' || (select string_agg('- ' || i.key || E': holds\n', '' order by i.key) from jsonb_each(v_invariants) i),
      p_principal, p_actor_class);
  end if;
  -- What the next gate will find the ground to be.
  v_evidence := p_evidence || jsonb_build_object(
    'gate', p_gate, 'invariants', v_invariants, 'kb_doc_id', v_document.path, 'kb_revision', v_document.revision,
    'pins', coalesce(p_evidence -> 'pins', '{}') || jsonb_build_object('survey', orchestrator.survey(p_run.run_id)),
    'event', jsonb_strip_nulls(jsonb_build_object('kb_doc_id', v_document.path, 'approval_kb_id', p_evidence -> 'approval_kb_id')));
  v_report := fsm.move(p_run.run_id, 'orchestrator_run', p_run.state_code, v_transition.to_state, p_actor_class, v_transition.trigger_kind,
                       v_transition.trigger_ref, v_evidence, p_principal, p_gate, null, internal.artefact_digest(p_digests || v_document.digest), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return orchestrator.report(p_run.run_id, jsonb_build_object('gate', p_gate, 'invariants', v_invariants, 'kb_doc_id', v_document.path));
end
$$;
