create or replace view fsm.v_compiled_transition with (security_barrier) as
select t.transition_id,
       array(select l.login_role from identity.login_actor_class l where l.actor_class = t.actor_class order by 1) as login_roles,
       array(select g.rule from unnest(t.guard_ids) with ordinality u (id, n) left join fsm.guard_def g on g.guard_id = u.id order by u.n) as config_rules,
       (select case when bool_and(g.rule is not null and g.reads = '{}' and g.rule::text !~ '"(config|now)"|^strict') then
                 string_agg('(' || g.rule::text || ')', ' && ' order by u.n)::jsonpath end
          from unnest(t.guard_ids) with ordinality u (id, n) left join fsm.guard_def g on g.guard_id = u.id) as config_rule,
       array(select distinct r from unnest(t.guard_ids) u (id) join fsm.guard_def g on g.guard_id = u.id,
                    -- Settings and the time are put into the context only where a rule asks for them.
                    unnest(g.reads || array(select v.r from (values ('config'), ('now')) v (r) where strpos(g.rule::text, '."' || v.r || '"') > 0)) r
              order by r) as reads,
       coalesce(e.active, false) as event_active,
       -- An absent payload is an empty object; where that would break the schema, one must come along.
       coalesce(event.value_problems(e.payload_schema, '{}') <> '[]', false) as needs_payload
  from fsm.transition_def t
  left join event.event_type_registry e on e.event_type = t.emitted_event_type;
comment on view fsm.v_compiled_transition is 'What fsm.compile_transitions writes into transition_def.';
