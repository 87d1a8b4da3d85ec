-- promise: the events behind a position, in order, with where each is told and who may see it: {last, upto, missing, unstamped, events}.
--          upto is how far this page reaches, missing whether retention dropped something of it, unstamped whether the sequencer has
--          something to do. Changes nothing. References only: no payload leaves by this door.
-- callers: chancery_app (one reader a process, for everybody who listens)
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
  select c.last_position, c.seen_snapshot, c.system_identifier <> (select s.system_identifier from pg_control_system() s) as moved
    into v_cursor from event.sequencer_cursor c;
  v_upto := greatest(v_after, least(v_after + v_limit, coalesce(v_cursor.last_position, 0)));
  if v_upto > v_after then
    select coalesce(jsonb_agg(e.told order by e.position), '[]') into v_events
      from (select v.position,
                   jsonb_build_object(
                     'position', v.position, 'type', v.event_type, 'kind', v.subject_kind, 'id', v.subject_id, 'seq', v.subject_seq,
                     'from', v.from_state, 'to', v.to_state, 'at', v.created_at, 'trace_id', v.trace_id)
                   || event.feed_place(v.subject_kind, v.subject_id, v.from_state, v.to_state) as told
              from event.v_event v
             where v.position > v_after and v.position <= v_upto) e;
  end if;
  return jsonb_build_object(
    'last', coalesce(v_cursor.last_position, 0), 'upto', v_upto, 'missing', jsonb_array_length(v_events) < v_upto - v_after,
    -- In another cluster than the last pass the numbers of transactions mean nothing: a pass has to look.
    'unstamped', v_cursor.seen_snapshot is null or v_cursor.moved or exists (
      select from event.event_outbox o
       -- The upper bound says nothing new; it says that the rows are few, so that they are found by the index and not by reading all.
       where o.xid >= pg_snapshot_xmin(v_cursor.seen_snapshot) and o.xid < pg_snapshot_xmax(pg_current_snapshot())
         and not pg_visible_in_snapshot(o.xid, v_cursor.seen_snapshot)
         and not exists (select from event.event_sequenced s where s.event_id = o.event_id)),
    'events', v_events);
end
$$;
