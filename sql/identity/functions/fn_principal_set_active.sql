-- promise: the principal can act again, or not any more. What it did stays.
-- callers: chancery_migrator (the operator)
-- refuses with: RI001
create or replace function identity.fn_principal_set_active(p_name text, p_active boolean, p_acted_by text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  update identity.principal set active = p_active where name = p_name and active <> p_active;
  if found then
    perform identity.record(p_acted_by, case when p_active then 'principal_activated' else 'principal_deactivated' end, p_name, '{}');
  elsif not exists (select from identity.principal p where p.name = p_name) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_name)));
  end if;
  return (select to_jsonb(v) from identity.v_principal v where v.name = p_name);
end
$$;
