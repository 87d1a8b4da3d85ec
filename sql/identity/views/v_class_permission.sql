create or replace view identity.v_class_permission with (security_barrier) as
select p.permission, p.description, c.actor_class from identity.permission p left join identity.class_permission c using (permission);
comment on view identity.v_class_permission is 'What each class may.';
