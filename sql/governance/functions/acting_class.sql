-- promise: the first of the classes that the principal holds and this login may act for; the first of all when there is none, so
--          that the refusal names it.
create or replace function governance.acting_class(p_principal text, p_classes text[]) returns text
language sql stable
as $$
  select coalesce(
    (select c.class
       from unnest(p_classes) with ordinality c (class, n)
       join identity.principal p on p.name = p_principal and p.active and c.class = any (p.actor_classes)
       join identity.login_actor_class l on l.login_role = session_user and l.actor_class = c.class
      order by c.n limit 1),
    p_classes[1])
$$;
