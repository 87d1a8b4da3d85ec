-- promise: whether the principal is active, one of its classes may this, and the credential of the request may it too. A request says with
--          `chancery.permissions`, for one statement, what its token is limited to; without it there is no limit but the principal's own. Whoever sets
--          it can take permissions away by it, and add none.
-- callers: doors that read; identity.require_permission
create or replace function identity.permits(p_principal text, p_permission text) returns boolean
language sql stable
as $$
  select (coalesce(current_setting('chancery.permissions', true), '') = ''
          or p_permission = any (string_to_array(current_setting('chancery.permissions', true), ',')))
     and exists (
           select from identity.principal p join identity.v_class_permission c on c.actor_class = any (p.actor_classes)
            where p.name = p_principal and p.active and c.permission = p_permission)
$$;
