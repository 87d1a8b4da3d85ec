create or replace view fsm.v_machine with (security_barrier) as
select m.state_machine_id, m.scope, m.name, m.version, m.active, m.description, m.initial_state, m.definition, m.definition_sha256,
       m.applied_by, m.created_at,
       (select count(*) from fsm.state_def s where s.state_machine_id = m.state_machine_id) as states,
       (select count(*) from fsm.transition_def t where t.state_machine_id = m.state_machine_id) as transitions,
       -- A guard counts as registered when it stands in the registry and everything it reads can be locked.
       coalesce((select jsonb_agg(distinct g.id) from fsm.transition_def t, unnest(t.guard_ids) g (id)
                  where t.state_machine_id = m.state_machine_id
                    and not exists (
                      select from fsm.guard_def d
                       where d.guard_id = g.id
                         and d.reads <@ (array['parent', 'children', 'history'] || array(select l.target from fsm.lock_target_def l)))),
                '[]') as guards_not_registered
  from fsm.state_machine_def m;
comment on view fsm.v_machine is 'The registry of machines.';
