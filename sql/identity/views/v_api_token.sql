create or replace view identity.v_api_token with (security_barrier) as
select t.token_id, t.principal, t.label, to_jsonb(t.scopes) as scopes, t.issued_at, t.issued_by, t.expires_at, t.revoked_at, t.revoke_reason
  from identity.api_token t;
comment on view identity.v_api_token is 'Tokens without what they are recognised by.';
