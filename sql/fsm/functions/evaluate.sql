-- promise: the verdict on one move: which row allows it, what it emits, and every problem with it. Preview and apply
--          both ask this function and nothing else, so they cannot differ. Writes nothing, locks nothing.
-- callers: fsm.move, fsm.fn_state_transition_validate
-- refuses: never raises; problems are data (codes in config.refusal)
--
-- Why so few look-ups: a probe by key costs PL/pgSQL some 3 µs, the same rows as a join of seven tables 75 µs, because the
-- executor sets up every node of a join anew in each move. So transition_def carries what is known when rules change, and a
-- move reads three rows: the run, the transition, the principal.
create or replace function fsm.evaluate(
  p_run_kind text, p_run_id uuid, p_run fsm.run_row, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text, p_key_id uuid, p_signed boolean
) returns fsm.verdict
language plpgsql stable
as $$
declare
  v_verdict fsm.verdict;
  v_rule record;
  v_principal record;
  v_problems jsonb := '[]';
begin
  -- A run that was inserted and not yet born (seq 0) moves from nowhere into its initial state.
  if p_run.seq > 0 then
    v_verdict.from_state := coalesce(p_from_state, p_run.state_code);
    select t.transition_id, t.label, t.trigger_kind, t.trigger_ref, t.guard_ids, t.config_rules, t.reads, t.needs_facet,
           t.audit_required, t.proposed, t.emitted_event_type, t.event_active, t.payload_has_required, t.needs_nothing_more, t.login_roles
      into v_rule
      from fsm.transition_def t
     where t.state_machine_id = p_run.state_machine_id and t.from_state = v_verdict.from_state
       and t.to_state = p_to_state and t.actor_class = p_actor_class;
  else
    select t.transition_id, t.label, t.trigger_kind, t.trigger_ref, t.guard_ids, t.config_rules, t.reads, t.needs_facet,
           t.audit_required, t.proposed, t.emitted_event_type, t.event_active, t.payload_has_required, t.needs_nothing_more, t.login_roles
      into v_rule
      from fsm.transition_def t
     where t.state_machine_id = p_run.state_machine_id and t.from_state is null
       and t.to_state = p_to_state and t.actor_class = p_actor_class;
  end if;
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;

  -- The common case in one expression: whatever is true here would be found true one by one below. PL/pgSQL sets up every
  -- expression anew in each transaction, so twenty small ones cost more than the rules they hold.
  if v_rule.needs_nothing_more and v_rule.trigger_kind = p_trigger_kind and v_rule.trigger_ref = p_trigger_ref
     and (p_from_state is null or p_from_state = p_run.state_code or p_run.seq = 0)
     and v_principal.active and p_actor_class = any (v_principal.actor_classes) and session_user = any (v_rule.login_roles)
     and v_principal.kind = 'service' and p_key_id is null and p_signed is not true and not p_evidence ? 'event' then
    v_verdict.transition_id := v_rule.transition_id;
    v_verdict.event_type := v_rule.emitted_event_type;
    v_verdict.reads := v_rule.reads;
    v_verdict.payload := '{}';
    if v_rule.guard_ids <> '{}' then
      v_verdict.problems := nullif(fsm.refusing_guards(
        p_run_kind, p_run_id, p_run, v_rule.guard_ids, v_rule.config_rules, v_rule.reads, p_evidence, p_principal, v_principal.kind,
        p_actor_class), '[]');
    end if;
    return v_verdict;
  end if;

  -- guard: the row itself
  if v_rule.transition_id is null then
    v_problems := fsm.explain_no_transition(p_run, v_verdict.from_state, p_to_state, p_actor_class);
  else
    v_verdict.transition_id := v_rule.transition_id;
    v_verdict.event_type := v_rule.emitted_event_type;
    v_verdict.reads := v_rule.reads;
    v_verdict.payload := coalesce(p_evidence -> 'event', '{}');
    if v_rule.trigger_kind is distinct from p_trigger_kind or v_rule.trigger_ref is distinct from p_trigger_ref then
      v_problems := internal.problem('RS005', jsonb_build_object(
        'expected', v_rule.trigger_kind || ':' || v_rule.trigger_ref, 'given', concat(p_trigger_kind, ':', p_trigger_ref)));
    end if;
    if v_rule.guard_ids <> '{}' then
      v_problems := v_problems || fsm.refusing_guards(
        p_run_kind, p_run_id, p_run, v_rule.guard_ids, v_rule.config_rules, v_rule.reads, p_evidence, p_principal, v_principal.kind, p_actor_class);
    end if;
    if v_rule.audit_required and coalesce(btrim(p_evidence ->> 'audit_ref'), '') = '' then
      v_problems := v_problems || internal.problem('RS007', jsonb_build_object('transition', v_rule.label));
    end if;
    if v_rule.emitted_event_type is not null and not v_rule.event_active then
      v_problems := v_problems || internal.problem('RE001', jsonb_build_object('event_type', v_rule.emitted_event_type));
    end if;
  end if;
  -- guard: the run is where the caller thinks it is
  if p_from_state <> p_run.state_code and p_run.seq > 0 then
    v_problems := v_problems || internal.problem('RS009', jsonb_build_object('expected', p_from_state, 'actual', p_run.state_code));
  end if;
  if v_rule.transition_id is not null then
    if v_rule.needs_facet then
      v_verdict.facet := fsm.primary_facet(p_run.state_machine_id, p_to_state, p_evidence);
      if v_verdict.facet is null then
        v_problems := v_problems || fsm.explain_missing_facet(p_run.state_machine_id, p_to_state, p_evidence);
      end if;
    end if;
    if v_rule.proposed then
      v_problems := v_problems || internal.problem('RS011', jsonb_build_object('transition', v_rule.label));
    end if;
    -- Most events carry no extension, and most schemas ask for none.
    if v_rule.payload_has_required or (v_verdict.payload <> '{}' and v_rule.emitted_event_type is not null) then
      v_problems := v_problems || event.payload_problems(v_rule.emitted_event_type, v_verdict.payload);
    end if;
  end if;

  -- guard: who asks. A preview may be asked for a class without naming a principal.
  if p_principal is not null then
    if v_principal.kind is null then
      v_problems := v_problems || internal.problem('RI001', jsonb_build_object('principal', p_principal));
    else
      if not v_principal.active then
        v_problems := v_problems || internal.problem('RI002', jsonb_build_object('principal', p_principal));
      end if;
      if p_actor_class <> all (v_principal.actor_classes) then
        v_problems := v_problems || internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class));
      end if;
    end if;
    if v_rule.login_roles is null or session_user <> all (v_rule.login_roles) then
      v_problems := v_problems || identity.login_problems(p_actor_class);
    end if;
    if p_key_id is not null or p_signed or v_principal.kind <> 'service' then
      v_problems := v_problems || identity.key_problems(p_principal, v_principal.kind, p_key_id, p_signed);
    end if;
  end if;
  if v_problems <> '[]' then
    v_verdict.problems := v_problems;
  end if;
  return v_verdict;
end
$$;
