-- promise: whoever writes units is an active executor, and asks through the executor's login.
-- refuses with: RI001–RI004
create or replace function iu.require_writer(p_actor text) returns void
language plpgsql stable
as $$
begin
  -- The common case in one look: the gate of ten thousand units asks ten thousand times.
  if session_user = 'cutter_exec' and exists (
      select from identity.principal p where p.name = p_actor and p.active and 'executor_dot991' = any (p.actor_classes)) then
    return;
  end if;
  perform identity.require_actor(p_actor, 'executor_dot991');
end
$$;
