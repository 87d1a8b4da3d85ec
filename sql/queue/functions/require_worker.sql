-- promise: the caller acts for a worker, which has a name of its own.
-- refuses with: RE018, RI001–RI004
create or replace function queue.require_worker(p_worker text, p_principal text) returns void
language plpgsql stable
as $$
begin
  -- One look for what is nearly always well; the refusal is found by the long way.
  if not exists (select from identity.principal p join identity.login_actor_class l on l.login_role = session_user and l.actor_class = 'executor_worker'
                  where p.name = p_principal and p.active and 'executor_worker' = any (p.actor_classes)) then
    perform identity.require_actor(p_principal, 'executor_worker');
  end if;
  if p_worker is null or p_worker !~ '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$' then
    perform internal.refuse(internal.problem('RE018', jsonb_build_object('worker', p_worker, 'expected', 'letters, digits and . _ : @ - , at most 128')));
  end if;
end
$$;
