-- promise: one row in the identity log, in the transaction of the change it tells of.
create or replace function identity.record(p_acted_by text, p_action text, p_principal text, p_facts jsonb) returns void
language sql
as $$
  insert into identity.identity_log (at, login_role, acted_by, action, principal, facts)
  values (internal.now(), session_user, p_acted_by, p_action, p_principal, p_facts)
$$;
