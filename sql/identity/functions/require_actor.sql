-- promise: the principal is active, holds the class, and this login may act for it.
-- refuses with: RI001–RI004
create or replace function identity.require_actor(p_principal text, p_actor_class text) returns void
language plpgsql stable
as $$
declare
  v_principal record;
  v_problems jsonb;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  v_problems := identity.actor_problems(p_principal, v_principal.kind, v_principal.active, v_principal.actor_classes, p_actor_class, null, null);
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
end
$$;
