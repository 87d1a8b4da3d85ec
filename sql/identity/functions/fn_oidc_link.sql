-- promise: this subject of this provider is this principal. Repeating it changes nothing.
-- callers: chancery_migrator (the operator)
-- refuses with: RI001, RI049 malformed, or linked to somebody else
create or replace function identity.fn_oidc_link(p_issuer text, p_subject text, p_principal text, p_acted_by text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_linked text;
begin
  if not exists (select from identity.principal p where p.name = p_principal) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif not coalesce(octet_length(p_issuer) between 8 and 500 and p_issuer ~ '^https?://' and octet_length(p_subject) between 1 and 255, false) then
    perform internal.refuse(internal.problem('RI049', jsonb_build_object('issuer', p_issuer, 'subject', p_subject)));
  end if;
  insert into identity.oidc_link (issuer, subject, principal, linked_at, linked_by)
  values (p_issuer, p_subject, p_principal, internal.now(), p_acted_by) on conflict do nothing;
  if found then
    perform identity.record(p_acted_by, 'oidc_linked', p_principal, jsonb_build_object('issuer', p_issuer, 'subject', p_subject));
  else
    select l.principal into v_linked from identity.oidc_link l where l.issuer = p_issuer and l.subject = p_subject;
    if v_linked <> p_principal then
      perform internal.refuse(internal.problem('RI049', jsonb_build_object('issuer', p_issuer, 'subject', p_subject, 'linked_to', v_linked)));
    end if;
  end if;
end
$$;
