-- promise: the verdict on one move: which row allows it, what it emits, and every problem with it. The preview
--          asks this function and nothing else; so does apply, but for the plain moves that fsm.move lets through on its short way,
--          where nothing is asked less. Writes nothing, locks nothing.
-- callers: fsm.move, fsm.fn_state_transition_validate
-- refuses: never raises; problems are data (codes in config.refusal)
--
-- Why so few look-ups: a probe by key costs PL/pgSQL some 3 µs, the same rows as a join of seven tables 75 µs, because the
-- executor sets up every node of a join anew in each move. So transition_def carries what is known when rules change, and a
-- move reads three rows: the run, the transition, the principal.
-- Why so few expressions: PL/pgSQL sets up each one anew in each transaction (some 1 µs).
create or replace function fsm.evaluate(
  p_run_kind text, p_run_id uuid, p_run fsm.run_row, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text, p_key_id uuid, p_signed boolean
) returns fsm.verdict
language plpgsql stable
as $$
declare
  v_verdict fsm.verdict;
  v_trigger_kind text;
  v_trigger_ref text;
  v_guard_ids text[];
  v_config_rules jsonpath[];
  v_label text;
  v_audit_required boolean;
  v_needs_facet boolean;
  v_proposed boolean;
  v_event_active boolean;
  v_needs_payload boolean;
  v_evidence_schema jsonb;
  v_evidence jsonb;
  v_run fsm.run_row;
  v_kind text;
  v_active boolean;
  v_classes text[];
begin
  if p_run.seq > 0 then
    select t.transition_id, t.from_state, t.emitted_event_type, t.reads,
           t.trigger_kind, t.trigger_ref, t.guard_ids, t.config_rules
      into v_verdict.transition_id, v_verdict.from_state, v_verdict.event_type, v_verdict.reads,
           v_trigger_kind, v_trigger_ref, v_guard_ids, v_config_rules
      from fsm.transition_def t
     where t.state_machine_id = p_run.state_machine_id and t.from_state = coalesce(p_from_state, p_run.state_code)
       and t.to_state = p_to_state and t.actor_class = p_actor_class;
  else
    -- A run that was inserted and not yet born moves from nowhere into its initial state.
    select t.transition_id, t.from_state, t.emitted_event_type, t.reads,
           t.trigger_kind, t.trigger_ref, t.guard_ids, t.config_rules
      into v_verdict.transition_id, v_verdict.from_state, v_verdict.event_type, v_verdict.reads,
           v_trigger_kind, v_trigger_ref, v_guard_ids, v_config_rules
      from fsm.transition_def t
     where t.state_machine_id = p_run.state_machine_id and t.from_state is null
       and t.to_state = p_to_state and t.actor_class = p_actor_class;
  end if;
  select p.kind, p.active, p.actor_classes into v_kind, v_active, v_classes from identity.principal p where p.name = p_principal;

  v_verdict.from_state := case when p_run.seq > 0 then coalesce(p_from_state, p_run.state_code) end;
  v_verdict.payload := coalesce(p_evidence -> 'event', '{}');
  -- Some facts of an event only the database knows; its actor, who signs the evidence, cannot say them. A room keeps them with its run.
  if p_run_kind <> 'custom' and jsonb_typeof(p_run.facts -> 'event') = 'object' then
    v_verdict.payload := v_verdict.payload || (p_run.facts -> 'event');
  end if;
  if v_verdict.transition_id is null then
    v_verdict.problems := fsm.explain_no_transition(p_run, v_verdict.from_state, p_to_state, p_actor_class)
      || fsm.from_problems(p_run, p_from_state);
  else
    if v_trigger_kind is distinct from p_trigger_kind or v_trigger_ref is distinct from p_trigger_ref then
      v_verdict.problems := internal.problem('RS005', jsonb_build_object(
        'expected', v_trigger_kind || ':' || v_trigger_ref, 'given', concat(p_trigger_kind, ':', p_trigger_ref)));
    end if;
    v_run := p_run;
    v_evidence := p_evidence;
    if 'seconds' = any (v_verdict.reads) then
      -- Times that the machine declares stand beside themselves as seconds, so that a rule can compare them.
      v_evidence := event.with_seconds((select t.evidence_schema from fsm.transition_def t where t.transition_id = v_verdict.transition_id), p_evidence);
      v_run.facts := event.with_seconds((select m.data_schema from fsm.state_machine_def m where m.state_machine_id = p_run.state_machine_id), p_run.facts);
    end if;
    v_verdict.problems := coalesce(v_verdict.problems, '[]') || fsm.refusing_guards(
      p_run_kind, p_run_id, v_run, v_guard_ids, v_config_rules, v_verdict.reads, v_evidence, p_principal, v_kind, p_actor_class);
    select t.label, t.audit_required, t.needs_facet, t.proposed, t.event_active, t.needs_payload, t.evidence_schema
      into v_label, v_audit_required, v_needs_facet, v_proposed, v_event_active, v_needs_payload, v_evidence_schema
      from fsm.transition_def t where t.transition_id = v_verdict.transition_id;
    if v_evidence_schema is not null then
      v_verdict.problems := v_verdict.problems || fsm.shape_problems('evidence', v_label, v_evidence_schema, p_evidence);
    end if;
    if v_audit_required and internal.is_blank(p_evidence ->> 'audit_ref') then
      v_verdict.problems := v_verdict.problems || internal.problem('RS007', jsonb_build_object('transition', v_label));
    end if;
    if v_verdict.event_type is not null and not v_event_active then
      v_verdict.problems := v_verdict.problems || internal.problem('RE001', jsonb_build_object('event_type', v_verdict.event_type));
    end if;
    v_verdict.problems := v_verdict.problems || fsm.from_problems(p_run, p_from_state);
    if v_needs_facet then
      v_verdict.facet := fsm.primary_facet(p_run.state_machine_id, p_to_state, p_evidence);
      if v_verdict.facet is null then
        v_verdict.problems := v_verdict.problems || fsm.explain_missing_facet(p_run.state_machine_id, p_to_state, p_evidence);
      end if;
    end if;
    if v_proposed then
      v_verdict.problems := v_verdict.problems || internal.problem('RS011', jsonb_build_object(
        'transition', v_label, 'transition_id', v_verdict.transition_id));
    end if;
    -- Most events carry no extension, and most schemas ask for none.
    if v_verdict.event_type is not null and (v_needs_payload or v_verdict.payload <> '{}') then
      v_verdict.problems := v_verdict.problems || event.payload_problems(v_verdict.event_type, v_verdict.payload);
    end if;
  end if;
  -- A preview may be asked for a class without naming a principal.
  if p_principal is not null then
    v_verdict.problems := v_verdict.problems
      || identity.actor_problems(p_principal, v_kind, v_active, v_classes, p_actor_class, p_key_id, p_signed);
  end if;
  v_verdict.problems := nullif(v_verdict.problems, '[]');
  return v_verdict;
end
$$;
