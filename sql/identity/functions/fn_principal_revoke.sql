-- promise: the principal no longer holds these classes. What it did with them stays. Repeating it changes nothing.
-- callers: chancery_migrator (the operator)
-- refuses with: RI001
create or replace function identity.fn_principal_revoke(p_name text, p_classes text[], p_acted_by text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken text[];
begin
  select array(select c from unnest(p.actor_classes) c where c = any (p_classes) order by c) into v_taken
    from identity.principal p where p.name = p_name for update;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_name)));
  end if;
  if v_taken <> '{}' then
    update identity.principal set actor_classes = array(select c from unnest(actor_classes) c where c <> all (v_taken) order by c)
     where name = p_name;
    perform identity.record(p_acted_by, 'classes_revoked', p_name, jsonb_build_object('classes', to_jsonb(v_taken)));
  end if;
  return (select to_jsonb(v) from identity.v_principal v where v.name = p_name);
end
$$;
