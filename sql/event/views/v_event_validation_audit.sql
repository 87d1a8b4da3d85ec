create or replace view event.v_event_validation_audit with (security_barrier) as
select a.audit_id, a.at, a.login_role, a.event_type, a.code, a.facts from event.event_validation_audit a;
comment on view event.v_event_validation_audit is 'Events that were refused.';
