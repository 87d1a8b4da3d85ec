-- promise: the caller acts for a worker, which has a name of its own and asks for a sensible number of jobs (none asked for is null).
--          Gives whose its leases are: the principal's and the worker's. A worker's name alone is said by whoever asks, and would let
--          another principal report on a lease that is not its own.
-- refuses with: RE018, RI001–RI004
create or replace function queue.lease_owner(p_worker text, p_principal text, p_limit integer) returns text
language plpgsql stable
as $$
declare
  v_most integer;
begin
  -- One look for what is nearly always well; the refusal is found by the long way.
  if not exists (select from identity.principal p join identity.login_actor_class l on l.login_role = session_user and l.actor_class = 'executor_worker'
                  where p.name = p_principal and p.active and 'executor_worker' = any (p.actor_classes)) then
    perform identity.require_actor(p_principal, 'executor_worker');
  end if;
  -- The length is asked by itself: a bound in the pattern makes the match twenty times as slow.
  if p_worker is null or p_worker !~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' or length(p_worker) > 128 then
    perform internal.refuse(internal.problem('RE018', jsonb_build_object('worker', p_worker, 'expected', 'letters, digits and . _ : @ - , at most 128')));
  end if;
  -- A single job is always allowed.
  if p_limit <> 1 then
    v_most := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'queue.claim.max_jobs');
    if p_limit < 1 or p_limit > v_most then
      perform internal.refuse(internal.problem('RE018', jsonb_build_object('limit', p_limit, 'expected', 'from 1 to ' || v_most)));
    end if;
  end if;
  return p_principal || '/' || p_worker;
end
$$;
