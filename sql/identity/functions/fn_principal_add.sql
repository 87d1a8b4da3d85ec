-- promise: the principal exists with at least these classes. Repeating it changes nothing; classes are only added here.
-- callers: chancery_migrator (the operator)
-- refuses with: RI009 exists as another kind, RI010 malformed name or kind, RI011 unknown actor class
create or replace function identity.fn_principal_add(p_name text, p_kind text, p_classes text[], p_acted_by text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_existing record;
  v_unknown text[];
  v_added text[];
begin
  if p_name is null or p_name !~ '^[a-z][a-z0-9._-]{0,62}$' or p_kind is null or p_kind not in ('human', 'agent', 'service') then
    perform internal.refuse(internal.problem('RI010', jsonb_build_object('name', p_name, 'kind', p_kind)));
  end if;
  select array_agg(c) into v_unknown from unnest(p_classes) c where c not in (select code from identity.actor_class);
  if v_unknown is not null then
    perform internal.refuse(internal.problem('RI011', jsonb_build_object(
      'unknown', to_jsonb(v_unknown), 'actor_classes', (select jsonb_agg(code order by code) from identity.actor_class))));
  end if;
  insert into identity.principal (name, kind, created_at) values (p_name, p_kind, internal.now()) on conflict (name) do nothing;
  if found then
    perform identity.record(p_acted_by, 'principal_added', p_name, jsonb_build_object('kind', p_kind));
  else
    select p.kind into v_existing from identity.principal p where p.name = p_name for update;
    if v_existing.kind <> p_kind then
      perform internal.refuse(internal.problem('RI009', jsonb_build_object('name', p_name, 'kind', v_existing.kind, 'given', p_kind)));
    end if;
  end if;
  select array_agg(distinct c order by c) into v_added
    from unnest(p_classes) c, identity.principal p where p.name = p_name and c <> all (p.actor_classes);
  if v_added is not null then
    update identity.principal
       set actor_classes = array(select distinct c from unnest(actor_classes || v_added) c order by c)
     where name = p_name;
    perform identity.record(p_acted_by, 'classes_granted', p_name, jsonb_build_object('classes', to_jsonb(v_added)));
  end if;
  return (select to_jsonb(v) from identity.v_principal v where v.name = p_name);
end
$$;
