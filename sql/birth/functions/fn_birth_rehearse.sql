-- promise: inside this transaction, which can no longer be committed, the object has a permit, so that the insert that follows does
--          what it would really do. The answer has the statement that makes every deferred constraint speak now. Open to any login
--          that writes a protected table: nothing of it stays.
-- callers: birth_writer, and logins that were given the right
-- refuses with: RB002, RB003, RB009, RB010, RB012, RI001–RI003
create or replace function birth.fn_birth_rehearse(p_collection text, p_asks jsonb, p_principal text, p_actor_class text, p_dot text default 'dot_birth_admit') returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_asks birth.permit_ask[] := birth.parse_asks(p_collection, p_asks);
  v_principal record;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif not v_principal.active then
    perform internal.refuse(internal.problem('RI002', jsonb_build_object('principal', p_principal)));
  elsif p_actor_class is null or p_actor_class <> all (v_principal.actor_classes) then
    perform internal.refuse(internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class)));
  end if;
  insert into birth.rehearsal (xid, collection_name, entity_code) values (pg_current_xact_id(), p_collection, coalesce(v_asks[1].entity_code, ''))
  on conflict (xid) do nothing;
  perform birth.reserve(p_collection, v_asks, p_principal, p_actor_class, p_dot, null, null, null);
  return jsonb_build_object(
    'permits', birth.permits_report(p_collection, array(select a.entity_code from unnest(v_asks) a)),
    -- All of them but the one that keeps this transaction from being committed. A constraint in a schema that is closed to the caller
    -- cannot be named by it.
    'constraints', (
      select 'set constraints ' || string_agg(distinct format('%I.%I', n.nspname, c.conname), ', ') || ' immediate'
        from pg_constraint c join pg_namespace n on n.oid = c.connamespace
       where c.condeferrable and c.conname <> 'rehearsal_is_never_committed' and has_schema_privilege(session_user, n.oid, 'usage')));
end
$$;
