-- promise: the events behind the consumer's position, in order and without a gap, at most so many; or behind another position,
--          for a target that lost what it had. Changes nothing of the consumer. When there is none, the sequencer is asked
--          once: a consumer works also where no other process runs it.
-- callers: chancery_app (relays)
-- locks: none; the cursor row when it asks the sequencer
-- refuses with: RE030 no such relay, RE034 retention dropped what comes next
create or replace function event.fn_consumer_read(p_consumer text, p_limit integer default 500, p_after bigint default null)
returns table (r_position bigint, r_event_id uuid, r_cloudevent jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_position bigint;
  v_next bigint;
  v_limit constant integer := least(greatest(coalesce(p_limit, 500), 1), 10000);
begin
  select c.position into v_position from event.event_consumer c where c.consumer = p_consumer and c.kind = 'relay';
  if v_position is null then
    perform internal.refuse(internal.problem('RE030', jsonb_build_object('consumer', p_consumer, 'kind', 'relay')));
  end if;
  v_position := coalesce(p_after, v_position);
  -- The cursor, not the table: `exists (… position > …)` is planned as a scan from the front, which ends where the reader stands.
  if v_position >= coalesce((select c.last_position from event.sequencer_cursor c), 0) then
    perform event.fn_sequence_events(10000);
  end if;
  -- Positions are dense: what does not join is gone, and nothing behind a gap is handed on.
  return query
  select e.position, e.event_id, e.cloudevent
    from (select v.position, v.event_id, v.cloudevent, row_number() over (order by v.position) as n
            from event.v_event v
           where v.position > v_position and v.position <= v_position + v_limit) e
   where e.position = v_position + e.n
   order by e.position;
  if not found and v_position < (select c.last_position from event.sequencer_cursor c) then
    select e.r_position into v_next from event.fn_events_after(v_position, 1) e;
    perform internal.refuse(internal.problem('RE034', jsonb_build_object(
      'consumer', p_consumer, 'position', v_position, 'next', v_next)));
  end if;
end
$$;
