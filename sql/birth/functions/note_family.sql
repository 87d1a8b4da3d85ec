-- promise: a change of a family's policy is on record.
create or replace function birth.note_family(p_family birth.family, p_action text, p_principal text) returns void
language plpgsql
as $$
begin
  insert into birth.family_log (family_log_id, collection_name, action, policy, principal, login_role, at)
  values (internal.uuid_v7(), p_family.collection_name, p_action, internal.canonical_json(jsonb_build_object(
            'code_column', p_family.code_column, 'name_column', p_family.name_column, 'rule', p_family.code_rule, 'ttl_seconds', p_family.ttl_seconds,
            'enforced_from', internal.micros(p_family.enforced_from), 'approval_required', p_family.approval_required, 'role', p_family.governance_role,
            'active', p_family.active)),
          p_principal, session_user, internal.now());
end
$$;
