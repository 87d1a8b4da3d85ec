-- promise: the rows of one machine version, inactive, sound as far as rows can say: every reference resolves, every state is
--          reachable, nothing but a terminal state is a dead end, the floor is whole.
-- refuses with: RS020, RE003, RE005
create or replace function fsm.store_definition(p_id text, p_definition jsonb, p_sha256 text, p_applied_by text) returns void
language plpgsql
as $$
declare
  v_facts jsonb;
  v_now timestamptz := internal.now();
begin
  insert into fsm.state_machine_def (state_machine_id, scope, name, version, active, description, initial_state, definition,
                                     definition_sha256, applied_by, created_at, data_schema)
  values (p_id, p_definition ->> 'scope', p_definition ->> 'machine', p_definition ->> 'version', false,
          p_definition ->> 'description', p_definition ->> 'initial_state', p_definition, p_sha256, p_applied_by, v_now, nullif(p_definition -> 'data', 'null'));

  insert into config.message (message_key, locale, text)
  select m.key, m.locale, m.text
    from jsonb_to_recordset(p_definition -> 'messages') m (key text, locale text, text text)
  on conflict (message_key, locale) do update set text = excluded.text where config.message.text <> excluded.text;

  perform event.fn_event_type_register(e) from jsonb_array_elements(p_definition -> 'events') e;

  insert into fsm.state_def (state_machine_id, state_code, semantic_class, is_terminal, ordinal, ui_color_token, ui_icon_token,
                             ui_label_i18n_key, ui_short_message_key, is_derived, floor_equivalent, derived_justification, is_conceptual)
  select p_id, s.code, s.class, s.terminal, s.ordinal, s.color, s.icon, s.label_key, s.message_key,
         s.derived is not null, s.derived ->> 'floor_equivalent', s.derived ->> 'justification', s.conceptual
    from jsonb_to_recordset(p_definition -> 'states') s (
      code text, class text, terminal boolean, ordinal integer, color text, icon text, label_key text, message_key text,
      derived jsonb, conceptual boolean);
  insert into fsm.state_facet_def (state_machine_id, state_code, facet_code, ui_icon_token, ui_label_i18n_key, primary_ordinal)
  select p_id, s ->> 'code', f.code, f.icon, f.label_key, f.ordinal
    from jsonb_array_elements(p_definition -> 'states') s,
         jsonb_to_recordset(coalesce(s -> 'facets', '[]')) f (code text, icon text, label_key text, ordinal integer);

  v_facts := fsm.rule_problems(p_definition);
  if v_facts <> '{}' then
    perform internal.refuse(internal.problem('RS020', jsonb_build_object('machine', p_id) || v_facts));
  end if;
  -- A user's machine brings its guards along; a product machine's predicates are registered by the room that owns them.
  insert into fsm.guard_def (guard_id, guard_name, guard_kind, rule, reads, description, registered_at)
  select p_id || '/' || g.name, g.name, 'config', g.rule::jsonpath,
         array(select jsonb_array_elements_text(g.reads)),
         g.description, v_now
    from jsonb_to_recordset(p_definition -> 'guards') g (name text, kind text, rule text, reads jsonb, description text)
   where g.kind = 'config';

  insert into fsm.transition_def (transition_id, state_machine_id, label, from_state, to_state, actor_class, trigger_kind, trigger_ref,
                                  guard_kind, guard_ref, guard_ids, needs_facet, emitted_event_type, audit_required,
                                  rollback_to, via_state, proposed, evidence_schema)
  select t.transition_id, p_id, t.label, t."from", t."to", t.actor, t.trigger_kind, t.trigger_ref,
         guards.kind, guards.names, guards.ids,
         exists (select from fsm.state_facet_def f where f.state_machine_id = p_id and f.state_code = t."to"),
         t.event, t.audit, t.rollback_to, t.via, t.proposed, t.evidence
    from jsonb_to_recordset(p_definition -> 'transitions') t (
           transition_id text, label text, "from" text, "to" text, actor text, trigger_kind text, trigger_ref text, guards jsonb,
           event text, audit boolean, rollback_to text, via text, proposed boolean, evidence jsonb)
    cross join lateral (
      -- A name that the file does not declare stays a name nobody registers: it is never simply left out.
      select case when count(*) > 0 then case when bool_and(g.kind is not distinct from 'config') then 'config' else 'predicate_fn' end end as kind,
             string_agg(n.name, ' & ' order by n.ord) as names,
             coalesce(array_agg(case g.kind when 'config' then p_id || '/' || n.name else n.name end order by n.ord), '{}') as ids
        from jsonb_array_elements_text(t.guards) with ordinality n (name, ord)
        left join jsonb_to_recordset(p_definition -> 'guards') g (name text, kind text) on g.name = n.name) guards;

  insert into fsm.invariant_def (state_machine_id, invariant_id, why, rule)
  select p_id, i ->> 'id', i ->> 'why', i - 'id' - 'why' from jsonb_array_elements(p_definition -> 'invariants') i;
  insert into fsm.rollup_policy_def (state_machine_id, policy_code, policy_config_jsonb, active)
  select p_id, r ->> 'policy', r -> 'config', (r ->> 'active')::boolean from jsonb_array_elements(p_definition -> 'rollup') r;

  perform fsm.compile_transitions();
  perform fsm.assert_sound(p_id);
end
$$;
