-- promise: the events behind the consumer's position, in order and without a gap, at most so many. Changes nothing of the
--          consumer. When there is none, the sequencer is asked once: a consumer works also where no other process runs it.
-- callers: chancery_app (relays)
-- locks: none; the cursor row when it asks the sequencer
-- refuses with: RE030 no such relay, RE034 retention dropped what the consumer has not read
create or replace function event.fn_consumer_read(p_consumer text, p_limit integer default 500)
returns table (r_position bigint, r_event_id uuid, r_event_type text, r_subject_kind text, r_cloudevent jsonb)
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
  if not exists (select from event.event_position p where p.position > v_position) then
    perform event.fn_sequence_events(10000);
  end if;
  -- Positions are dense: what does not join is gone, and nothing behind a gap is handed on.
  return query
  select e.position, e.event_id, e.event_type, e.subject_kind, e.cloudevent
    from (select v.position, v.event_id, v.event_type, v.subject_kind, v.cloudevent, row_number() over (order by v.position) as n
            from event.v_event v
           where v.position > v_position and v.position <= v_position + v_limit) e
   where e.position = v_position + e.n
   order by e.position;
  if not found and v_position < (select c.last_position from event.sequencer_cursor c) then
    select v.position into v_next from event.v_event v where v.position > v_position order by v.position limit 1;
    perform internal.refuse(internal.problem('RE034', jsonb_build_object(
      'consumer', p_consumer, 'position', v_position, 'next', v_next)));
  end if;
end
$$;
