create or replace view fsm.v_machine_permission with (security_barrier) as
select distinct t.actor_class, s.permission
  from identity.permission_source s
  join fsm.state_machine_def m on m.scope = s.scope
  join fsm.transition_def t on t.state_machine_id = m.state_machine_id and (s.trigger_refs = '{}' or t.trigger_ref = any (s.trigger_refs))
 where 'chancery_app' = any (t.login_roles);
comment on view fsm.v_machine_permission is 'Which permissions a class has because a machine has a transition for it: what identity.machine_permission is compiled from.';
