-- promise: the events behind a position, in order, with where each is told and who may see it: {last, upto, missing, unstamped, events}.
--          upto is how far this page reaches, missing whether retention dropped something of it, unstamped whether the sequencer has
--          something to do. Changes nothing. References only: no payload leaves by this door.
-- callers: chancery_app (one reader a process, for everybody who listens)
-- Each `offset 0` keeps the plan to one look by key for each event, as in event.fn_consumer_read.
create or replace function event.fn_feed(p_after bigint, p_limit integer default 500) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_cursor record;
  v_after constant bigint := greatest(coalesce(p_after, 0), 0);
  v_limit constant integer := least(greatest(coalesce(p_limit, 500), 1), 10000);
  v_upto bigint;
  v_events jsonb := '[]';
begin
  select c.last_position, c.seen_snapshot into v_cursor from event.sequencer_cursor c;
  v_upto := greatest(v_after, least(v_after + v_limit, coalesce(v_cursor.last_position, 0)));
  if v_upto > v_after then
    select coalesce(jsonb_agg(e.told order by e.position), '[]') into v_events
      from (select p.position,
                   jsonb_build_object(
                     'position', p.position, 'type', o.event_type, 'kind', o.subject_kind, 'id', o.subject_id, 'seq', o.subject_seq,
                     'from', l.from_state, 'to', l.to_state, 'at', o.created_at, 'trace_id', o.trace_id)
                   || event.feed_place(o.subject_kind, o.subject_id, l.from_state, l.to_state) as told
              from event.event_position p
             cross join lateral (
               select x.event_id, x.event_type, x.created_at, x.subject_kind, x.subject_id, x.subject_seq, x.trace_id
                 from event.event_outbox x
                where x.xid = p.xid and x.outbox_id = p.outbox_id and x.created_at = p.event_created_at offset 0) o
             cross join lateral (
               select t.from_state, t.to_state from fsm.transition_log t
                where t.run_id = o.subject_id and t.seq = o.subject_seq and t.log_id = o.event_id offset 0) l
             where p.position > v_after and p.position <= v_upto) e;
  end if;
  return jsonb_build_object(
    'last', coalesce(v_cursor.last_position, 0), 'upto', v_upto, 'missing', jsonb_array_length(v_events) < v_upto - v_after,
    'unstamped', v_cursor.seen_snapshot is null or exists (
      select from event.event_outbox o
       where o.xid >= pg_snapshot_xmin(v_cursor.seen_snapshot) and not pg_visible_in_snapshot(o.xid, v_cursor.seen_snapshot)
         and not exists (select from event.event_sequenced s where s.event_id = o.event_id)),
    'events', v_events);
end
$$;
