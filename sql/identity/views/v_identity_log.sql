create or replace view identity.v_identity_log with (security_barrier) as
select l.identity_log_id, l.at, l.login_role, l.acted_by, l.action, l.principal, l.facts from identity.identity_log l;
comment on view identity.v_identity_log is 'Who changed which principal, class or key, and when.';
