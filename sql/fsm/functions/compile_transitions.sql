-- promise: the compiled columns of transition_def say what login_actor_class, guard_def and event_type_registry say, and
--          identity.machine_permission what the transitions let each class do. Called whenever one of them changes; a test compares them.
create or replace function fsm.compile_transitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  update fsm.transition_def t
     set login_roles = c.login_roles, config_rules = c.config_rules, config_rule = c.config_rule, data_rule = c.data_rule, reads = c.reads,
         event_active = c.event_active, needs_payload = c.needs_payload
    from fsm.v_compiled_transition c
   where c.transition_id = t.transition_id
     and (t.login_roles, t.config_rules::text, t.config_rule::text, t.data_rule::text, t.reads, t.event_active, t.needs_payload)
         is distinct from (c.login_roles, c.config_rules::text, c.config_rule::text, c.data_rule::text, c.reads, c.event_active, c.needs_payload);
  delete from identity.machine_permission p
   where not exists (select from fsm.v_machine_permission c where c.actor_class = p.actor_class and c.permission = p.permission);
  insert into identity.machine_permission (actor_class, permission)
  select c.actor_class, c.permission from fsm.v_machine_permission c
  on conflict do nothing;
end
$$;
