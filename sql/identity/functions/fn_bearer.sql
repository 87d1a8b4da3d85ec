-- promise: whose session or token this digest is, what it may now, and the keys that its principal signs with. Asked with every request: what ended a moment ago is no longer good.
-- callers: chancery_app
-- refuses with: RI041 nobody's, RI042 expired, RI043 ended or revoked, RI002 whose principal is not active
create or replace function identity.fn_bearer(p_how text, p_sha256 bytea) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_bearer record;
begin
  if p_how = 'session' then
    select s.session_id as id, s.principal, s.expires_at, s.ended_at, s.csrf_sha256, null::text[] as scopes, p.kind, p.active, p.actor_classes
      into v_bearer from identity.session s join identity.principal p on p.name = s.principal where s.token_sha256 = p_sha256;
  else
    select t.token_id as id, t.principal, t.expires_at, t.revoked_at as ended_at, null::bytea as csrf_sha256, t.scopes, p.kind, p.active, p.actor_classes
      into v_bearer from identity.api_token t join identity.principal p on p.name = t.principal where t.token_sha256 = p_sha256;
  end if;
  if v_bearer.id is null then
    perform internal.refuse(internal.problem('RI041', jsonb_build_object('how', p_how)));
  elsif v_bearer.ended_at is not null then
    perform internal.refuse(internal.problem('RI043', jsonb_build_object('how', p_how, 'ended_at', v_bearer.ended_at)));
  elsif v_bearer.expires_at <= internal.now() then
    perform internal.refuse(internal.problem('RI042', jsonb_build_object('how', p_how, 'expires_at', v_bearer.expires_at)));
  elsif not v_bearer.active then
    perform internal.refuse(internal.problem('RI002', jsonb_build_object('principal', v_bearer.principal)));
  end if;
  return jsonb_build_object(
    'how', p_how, 'id', v_bearer.id, 'principal', v_bearer.principal, 'kind', v_bearer.kind, 'actor_classes', to_jsonb(v_bearer.actor_classes),
    'csrf_sha256', encode(v_bearer.csrf_sha256, 'hex'), 'expires_at', v_bearer.expires_at,
    'keys', (
      select coalesce(jsonb_agg(jsonb_build_object(
               'key_id', k.key_id, 'public_key', encode(k.public_key, 'hex'), 'revoked', k.revoked_at is not null) order by k.registered_at, k.key_id), '[]')
        from identity.signing_key k where k.principal = v_bearer.principal),
    'permissions', (
      select coalesce(jsonb_agg(distinct c.permission order by c.permission), '[]') from identity.v_class_permission c
       where c.actor_class = any (v_bearer.actor_classes) and (v_bearer.scopes is null or c.permission = any (v_bearer.scopes))));
end
$$;
