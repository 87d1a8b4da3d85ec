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
  if not exists (select from event.event_position p where p.position > v_position) then
    perform event.fn_sequence_events(10000);
  end if;
  -- Positions are dense: what does not join is gone, and nothing behind a gap is handed on.
  -- Each `offset 0` keeps the plan to one look by key for each event: joined as a whole, every batch read the entire outbox.
  return query
  select e.position, e.event_id, e.cloudevent
    from (select p.position, o.event_id, row_number() over (order by p.position) as n,
                 event.cloudevent(o.event_id, o.event_type, o.created_at, p.position, o.subject_kind, o.subject_id, o.subject_seq,
                                  l.from_state, l.to_state, o.principal, o.trace_id, o.correlation_id, o.payload) as cloudevent
            from event.event_position p
           cross join lateral (
             select x.event_id, x.event_type, x.created_at, x.subject_kind, x.subject_id, x.subject_seq, x.principal, x.trace_id,
                    x.correlation_id, x.payload
               from event.event_outbox x
              where x.xid = p.xid and x.outbox_id = p.outbox_id and x.created_at = p.event_created_at offset 0) o
           cross join lateral (
             select t.from_state, t.to_state from fsm.transition_log t
              where t.run_id = o.subject_id and t.seq = o.subject_seq and t.log_id = o.event_id offset 0) l
           where p.position > v_position and p.position <= v_position + v_limit) e
   where e.position = v_position + e.n
   order by e.position;
  if not found and v_position < (select c.last_position from event.sequencer_cursor c) then
    select v.position into v_next from event.v_event v where v.position > v_position order by v.position limit 1;
    perform internal.refuse(internal.problem('RE034', jsonb_build_object(
      'consumer', p_consumer, 'position', v_position, 'next', v_next)));
  end if;
end
$$;
