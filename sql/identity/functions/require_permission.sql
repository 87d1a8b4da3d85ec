-- promise: the principal may this.
-- refuses with: RI001, RI002, RI040 none of its classes may
create or replace function identity.require_permission(p_principal text, p_permission text) returns void
language plpgsql stable
as $$
declare
  v_principal record;
begin
  if identity.permits(p_principal, p_permission) then
    return;
  end if;
  select p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif not v_principal.active then
    perform internal.refuse(internal.problem('RI002', jsonb_build_object('principal', p_principal)));
  end if;
  perform internal.refuse(internal.problem('RI040', jsonb_build_object(
    'principal', p_principal, 'permission', p_permission,
    'classes', (select coalesce(jsonb_agg(c.actor_class order by c.actor_class), '[]') from identity.v_class_permission c where c.permission = p_permission and c.actor_class is not null))));
end
$$;
