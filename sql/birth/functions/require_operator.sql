-- promise: who changes a policy has a name that is known and active.
-- refuses with: RI001, RI002
create or replace function birth.require_operator(p_principal text) returns void
language plpgsql stable
as $$
declare
  v_active boolean;
begin
  select p.active into v_active from identity.principal p where p.name = p_principal;
  if v_active is distinct from true then
    perform internal.refuse(internal.problem(case when v_active is null then 'RI001' else 'RI002' end, jsonb_build_object('principal', p_principal)));
  end if;
end
$$;
