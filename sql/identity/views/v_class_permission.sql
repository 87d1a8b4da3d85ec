create or replace view identity.v_class_permission with (security_barrier) as
select p.permission, p.description, h.actor_class
  from identity.permission p
  left join (
    select c.permission, c.actor_class from identity.class_permission c
    union
    select c.permission, c.actor_class from identity.machine_permission c) h using (permission);
comment on view identity.v_class_permission is
  'What each class may over HTTP: what it is given, and what the machines let it do behind the login of the server.';
