-- promise: the holder leads the loop for so many seconds from now, unless somebody else does; with 0 seconds it leads no longer. Returns
--          {held, holder, lease_until}: who leads it after the call. A leader that says nothing any more loses it when its time is over,
--          also when its process only stands still.
-- callers: chancery_app (system), the host of the loops
-- locks: the loop's row
-- refuses with: RE019 the name, the holder or the seconds, RI001–RI004
create or replace function queue.fn_loop_lease(p_loop text, p_holder text, p_seconds integer, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := internal.now();
  v_lease queue.loop_lease;
begin
  perform identity.require_actor(p_principal, 'system');
  if p_loop is null or p_loop !~ '^[a-z][a-z0-9_]{0,62}$' or p_holder is null or p_holder !~ '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$'
     or p_seconds is null or p_seconds not between 0 and 3600 then
    perform internal.refuse(internal.problem('RE019', jsonb_build_object('loop', p_loop, 'holder', p_holder, 'seconds', p_seconds)));
  end if;
  select l.* into v_lease from queue.loop_lease l where l.loop_name = p_loop;
  if v_lease.holder <> p_holder and v_lease.lease_until > v_now then
    -- Those who wait their turn ask often: they only read.
    null;
  elsif p_seconds = 0 then
    -- The row stays: who led it last is worth knowing.
    update queue.loop_lease l set lease_until = least(l.lease_until, v_now) where l.loop_name = p_loop and l.holder = p_holder;
  else
    -- Compare and set in one statement: of two that ask at once, the second sees what the first one wrote.
    insert into queue.loop_lease as l (loop_name, holder, lease_until, taken_at)
    values (p_loop, p_holder, v_now + p_seconds * interval '1 second', v_now)
    on conflict (loop_name) do update
       set holder = excluded.holder, lease_until = excluded.lease_until,
           taken_at = case when l.holder = excluded.holder then l.taken_at else excluded.taken_at end
     where l.holder = excluded.holder or l.lease_until <= v_now;
  end if;
  select l.* into v_lease from queue.loop_lease l where l.loop_name = p_loop;
  return jsonb_build_object('held', coalesce(v_lease.holder = p_holder and v_lease.lease_until > v_now, false), 'holder', v_lease.holder,
                            'lease_until', v_lease.lease_until);
end
$$;
