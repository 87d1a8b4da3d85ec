-- promise: the holder leads the consumer for so many seconds from now, unless somebody else does; with 0 seconds it leads no longer. Says
--          {held, holder, lead_until}. Who says nothing any more loses the lead when its time is over. What it does then must be safe beside the
--          next one, and is: positions are compared before they are set.
--          A lease, and no lock of the session: such a lock belongs to nobody, so any login could keep its key and no relay would work.
-- callers: chancery_app (relays)
-- locks: the consumer's row
-- refuses with: RE019 the holder or the seconds, RE030 no such relay, RI001–RI004
create or replace function event.fn_consumer_lead(p_consumer text, p_holder text, p_seconds integer, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := internal.now();
  v_there event.event_consumer;
begin
  perform identity.require_actor(p_principal, 'executor_worker');
  if p_holder is null or p_holder !~ '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$' or p_seconds is null or p_seconds not between 0 and 3600 then
    perform internal.refuse(internal.problem('RE019', jsonb_build_object('loop', p_consumer, 'holder', p_holder, 'seconds', p_seconds)));
  end if;
  -- Who leads gives itself more time, or none; who waits its turn only reads.
  update event.event_consumer c
     set lead_holder = p_holder, lead_until = v_now + make_interval(secs => p_seconds)
   where c.consumer = p_consumer and c.kind = 'relay'
     and (c.lead_holder = p_holder or p_seconds > 0 and (c.lead_until is null or c.lead_until <= v_now));
  select c.* into v_there from event.event_consumer c where c.consumer = p_consumer and c.kind = 'relay';
  if not found then
    perform internal.refuse(internal.problem('RE030', jsonb_build_object('consumer', p_consumer, 'kind', 'relay')));
  end if;
  return jsonb_build_object('held', coalesce(v_there.lead_holder = p_holder and v_there.lead_until > v_now, false),
                            'holder', v_there.lead_holder, 'lead_until', v_there.lead_until);
end
$$;
