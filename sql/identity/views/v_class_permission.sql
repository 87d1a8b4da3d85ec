create or replace view identity.v_class_permission with (security_barrier) as
select p.permission, p.description, h.actor_class
  from identity.permission p
  left join (
    select c.permission, c.actor_class from identity.class_permission c
    union
    select s.permission, t.actor_class
      from identity.permission_source s
      join fsm.state_machine_def m on m.scope = s.scope
      join fsm.transition_def t on t.state_machine_id = m.state_machine_id and (s.trigger_refs = '{}' or t.trigger_ref = any (s.trigger_refs))
     where 'chancery_app' = any (t.login_roles)) h using (permission);
comment on view identity.v_class_permission is
  'What each class may over HTTP: what it is given, and what the machines let it do behind the login of the server.';
