-- promise: there is a token of this digest for the principal, with no more than the principal may: what its scopes name and the principal does
--          not hold at the time of a request, the token does not give. Repeating it with the same id changes nothing.
--          A token that makes another one gives no more than it has, and no longer than it lives.
-- callers: chancery_app for who asks (p_acted_by = p_principal), with p_by_token when a token asks; chancery_migrator (the operator) for anybody
-- refuses with: RI001, RI002, RI048 a scope that the principal or the token has not, a life too long, no label, another token of this id
create or replace function identity.fn_token_issue(
  p_token_id uuid, p_principal text, p_label text, p_scopes text[], p_seconds bigint, p_token_sha256 bytea, p_by_token uuid, p_acted_by text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_principal record;
  v_wrong text[];
  v_longest integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'api_token.longest_days');
  v_now timestamptz := internal.now();
  v_known record;
  v_by record;
  v_latest timestamptz := 'infinity';
begin
  select p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal for share;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif not v_principal.active then
    perform internal.refuse(internal.problem('RI002', jsonb_build_object('principal', p_principal)));
  end if;
  select array_agg(s order by s) into v_wrong from unnest(p_scopes) s
   where s is null or not exists (
     select from identity.v_class_permission c where c.permission = s and c.actor_class = any (v_principal.actor_classes))
     -- What a machine of one's own gives may be named before that machine is applied.
     and not exists (
     select from identity.permission_source o, unnest(v_principal.actor_classes) a
      where o.permission = s and o.scope = 'custom' and fsm.can_act(a, o.scope));
  if p_by_token is not null then
    select t.scopes, t.expires_at, t.principal = p_principal as own into v_by from identity.api_token t where t.token_id = p_by_token;
    select array_agg(s order by s) into v_wrong from unnest(p_scopes) s
     where s = any (v_wrong) or not coalesce(v_by.own and s = any (v_by.scopes), false);
    v_latest := v_by.expires_at;
  end if;
  if v_wrong is not null or coalesce(cardinality(p_scopes), 0) = 0 or internal.is_blank(p_label) or octet_length(p_label) > 200
     or p_seconds is null or p_seconds not between 60 and v_longest * 86400::bigint or octet_length(p_token_sha256) is distinct from 32
     or v_now + make_interval(secs => p_seconds) > v_latest
     or (session_user <> 'chancery_migrator' and p_acted_by is distinct from p_principal) then
    perform internal.refuse(internal.problem('RI048', jsonb_build_object(
      'principal', p_principal, 'label', left(p_label, 200), 'not_held', to_jsonb(v_wrong), 'longest_days', v_longest, 'acted_by', p_acted_by)));
  end if;
  insert into identity.api_token (token_id, token_sha256, principal, label, scopes, issued_at, issued_by, expires_at)
  values (p_token_id, p_token_sha256, p_principal, p_label, array(select distinct s from unnest(p_scopes) s order by s), v_now,
          coalesce(p_acted_by, session_user), v_now + make_interval(secs => p_seconds))
  on conflict do nothing;
  if found then
    perform identity.record(p_acted_by, 'token_issued', p_principal, jsonb_build_object('token_id', p_token_id, 'scopes', to_jsonb(p_scopes)));
  else
    select t.principal, t.token_sha256 into v_known from identity.api_token t where t.token_id = p_token_id;
    if v_known.principal is distinct from p_principal or v_known.token_sha256 is distinct from p_token_sha256 then
      perform internal.refuse(internal.problem('RI048', jsonb_build_object('token_id', p_token_id, 'taken', true)));
    end if;
  end if;
  return (select to_jsonb(v) from identity.v_api_token v where v.token_id = p_token_id);
end
$$;
