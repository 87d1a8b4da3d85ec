create or replace view birth.v_family_log with (security_barrier) as
select l.family_log_id, l.collection_name, l.action, l.policy, l.principal, l.login_role, l.at, l.row_digest, l.digest_version
  from birth.family_log l;
comment on view birth.v_family_log is 'Changes of policies.';
