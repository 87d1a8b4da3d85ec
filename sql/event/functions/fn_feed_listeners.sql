-- promise: which of these sessions and tokens are still good, and what they may now: [{id, principal, actor_classes, permissions}]. One
--          question for everybody who listens to a process, as event.fn_feed is. As identity.fn_bearer judges.
-- callers: chancery_app
create or replace function event.fn_feed_listeners(p_sessions uuid[], p_tokens uuid[]) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'id', b.id, 'principal', b.principal, 'actor_classes', to_jsonb(p.actor_classes), 'permissions', (
             select coalesce(jsonb_agg(distinct c.permission), '[]') from identity.v_class_permission c
              where c.actor_class = any (p.actor_classes) and (b.scopes is null or c.permission = any (b.scopes))))), '[]')
    from (select s.session_id as id, s.principal, null::text[] as scopes from identity.session s
           where s.session_id = any (p_sessions) and s.ended_at is null and s.expires_at > internal.now()
          union all
          select t.token_id, t.principal, t.scopes from identity.api_token t
           where t.token_id = any (p_tokens) and t.revoked_at is null and t.expires_at > internal.now()) b
    join identity.principal p on p.name = b.principal and p.active
$$;
