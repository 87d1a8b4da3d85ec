-- promise: whether the principal is active and one of its classes may this.
-- callers: doors that read; identity.require_permission
create or replace function identity.permits(p_principal text, p_permission text) returns boolean
language sql stable
as $$
  select exists (
    select from identity.principal p join identity.class_permission c on c.actor_class = any (p.actor_classes)
     where p.name = p_principal and p.active and c.permission = p_permission)
$$;
