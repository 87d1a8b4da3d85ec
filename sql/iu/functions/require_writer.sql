-- promise: whoever writes units is an active executor, and asks through the executor's login.
-- refuses with: RI001–RI004
create or replace function iu.require_writer(p_actor text) returns void
language plpgsql stable
as $$
declare
  v_principal record;
  v_problems jsonb;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_actor;
  if session_user = 'cutter_exec' and v_principal.active and 'executor_dot991' = any (v_principal.actor_classes) then
    return;
  end if;
  v_problems := identity.actor_problems(p_actor, v_principal.kind, v_principal.active, v_principal.actor_classes, 'executor_dot991', null, null);
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
end
$$;
