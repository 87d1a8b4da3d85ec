create or replace view fsm.v_compiled_transition with (security_barrier) as
select c.transition_id, c.login_roles, c.config_rules,
       case when d.data_rule is null then c.config_rule end as config_rule,
       c.reads, c.event_active, c.needs_payload, d.data_rule
  from (select t.transition_id,
               array(select l.login_role from identity.login_actor_class l where l.actor_class = t.actor_class order by 1) as login_roles,
               -- Whatever mode a rule was written in, it is asked strictly: what is missing makes the answer unknown, and unknown refuses.
               array(select fsm.strict_rule(g.rule) from unnest(t.guard_ids) with ordinality u (id, n) left join fsm.guard_def g on g.guard_id = u.id
                      order by u.n) as config_rules,
               (select case when bool_and(g.rule is not null and g.reads = '{}' and g.rule::text !~ '"(config|now|moves|[^"]*_s)"') then
                         fsm.joined_rule(array_agg(g.rule order by u.n)) end
                  from unnest(t.guard_ids) with ordinality u (id, n) left join fsm.guard_def g on g.guard_id = u.id) as config_rule,
               array(select distinct r from unnest(t.guard_ids) u (id) join fsm.guard_def g on g.guard_id = u.id,
                            -- Settings, times and counts are put into the context only where a rule asks for them.
                            unnest(g.reads || array(
                              select v.r from (values ('config', '[.]"config"'), ('now', '[.]"now"'), ('seconds', '[.]"[^"]*_s"'), ('moves', '[.]"moves"')) v (r, named)
                               where g.rule::text ~ v.named)) r
                      order by r) as reads,
               coalesce(e.active, false) as event_active,
               -- An absent payload is an empty object; where that would break the schema, one must come along.
               coalesce(event.value_problems(e.payload_schema, '{}') <> '[]', false) as needs_payload
          from fsm.transition_def t
          left join event.event_type_registry e on e.event_type = t.emitted_event_type) c,
       -- The rules as a question to the run's data, where no $ is left that begins elsewhere. (The ids that keyvalue() gives depend
       -- on the document around; a string cannot hold the replaced words, since its quotation marks are written with a backslash.)
       lateral (select case when strpos(replace(c.config_rule::text, '$."run"."data"', ''), '$') = 0
                             and strpos(c.config_rule::text, '.keyvalue()') = 0
                         then replace(c.config_rule::text, '$."run"."data"', '$')::jsonpath end as data_rule) d;
comment on view fsm.v_compiled_transition is 'What fsm.compile_transitions writes into transition_def.';
