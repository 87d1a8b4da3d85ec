-- promise: who a provider says this subject is, is signed in as the principal that the operator linked to it.
-- callers: chancery_app, which verified what the provider signed
-- refuses with: RI046 not linked, RI002
create or replace function identity.fn_sign_in_oidc(p_issuer text, p_subject text, p_session_id uuid, p_token_sha256 bytea, p_csrf_sha256 bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_principal record;
begin
  select p.name, p.active into v_principal from identity.oidc_link l join identity.principal p on p.name = l.principal
   where l.issuer = p_issuer and l.subject = p_subject;
  if not found then
    perform internal.refuse(internal.problem('RI046', jsonb_build_object('issuer', p_issuer, 'subject', p_subject)));
  elsif not v_principal.active then
    perform internal.refuse(internal.problem('RI002', jsonb_build_object('principal', v_principal.name)));
  end if;
  return identity.open_session(v_principal.name, 'oidc', p_session_id, p_token_sha256, p_csrf_sha256);
end
$$;
