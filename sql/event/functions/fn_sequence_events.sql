-- promise: every event that is committed now has a position; positions are dense, never reused, and put cause before effect.
--          Returns how many were stamped and the last position.
-- callers: chancery_app (the sequencer loop). Safe to call from anywhere, any number of times, at once.
-- locks: the cursor row: one pass at a time, also without a leader
--
-- Why a snapshot and not a number: an event with a low number can commit after one with a high number, and a cursor that
-- has passed it never comes back (two thirds were lost so). What a pass has to stamp is exactly what its snapshot sees and
-- the snapshot of the pass before did not:
--   t0  T1 writes event 1 (open)      t1  T2 writes event 2, commits      t2  pass A sees 2, stamps it, keeps its snapshot
--   t3  T1 commits                    t4  pass B sees 1; A's snapshot did not: stamped now, nothing skipped, nothing twice
-- An old open transaction therefore delays nobody's events but its own.
--
-- Why order by outbox_id within a pass: two moves of one run are serialised by the run's row, so the later one drew its
-- number later; and if the later one is visible, so is the earlier. Their xids can be the other way round.
create or replace function event.fn_sequence_events(p_limit integer default 10000) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_cursor event.sequencer_cursor;
  v_system bigint := (select s.system_identifier from pg_control_system() s);
  v_moved boolean;
  v_before pg_snapshot;
  v_seen pg_snapshot;
  v_taken bigint;
  v_stamped bigint;
begin
  select c.* into v_cursor from event.sequencer_cursor c for update;
  if v_cursor.only_one is null then
    insert into event.sequencer_cursor (last_position, seen_snapshot, system_identifier)
    values (0, '1:1:', v_system)
    on conflict do nothing;
    select c.* into strict v_cursor from event.sequencer_cursor c for update;
  end if;
  -- Tomorrow's partition is made today, and the next million of positions before this one is full.
  if v_cursor.last_position % 1000000 > 900000
     or to_regclass('event.event_outbox_' || to_char((internal.now() at time zone 'UTC') + interval '1 day', 'YYYYMMDD')) is null then
    perform event.fn_ensure_partitions();
  end if;

  -- Moved to another cluster by dump and restore: old xids and the old snapshot mean nothing here. Until a pass has taken
  -- everything, whatever is visible and has no position is to be stamped, whatever its xid.
  v_moved := v_cursor.system_identifier <> v_system;
  v_before := case when v_moved then '1:1:' else v_cursor.seen_snapshot end;

  with fresh as (
    select o.event_id, o.xid, o.outbox_id, o.created_at
      from event.event_outbox o
     where o.xid >= pg_snapshot_xmin(v_before)
       -- As a range, so that it is planned for few rows; the snapshot of this statement, or what came between would be lost.
       and o.xid < case when v_moved then '18446744073709551615' else pg_snapshot_xmax(pg_current_snapshot()) end
       and not pg_visible_in_snapshot(o.xid, v_before)
       and not exists (select from event.event_sequenced s where s.event_id = o.event_id)
       -- An event is the shadow of a log row; a row that somebody forged beside the log is never delivered.
       and exists (select from fsm.transition_log l where l.run_id = o.subject_id and l.seq = o.subject_seq and l.log_id = o.event_id)
     order by o.outbox_id
     limit p_limit),
  firsts as (
    -- A copy that somebody made of an event's row must not stop the pass: the first one counts.
    select distinct on (f.event_id) f.event_id, f.xid, f.outbox_id, f.created_at from fresh f order by f.event_id, f.outbox_id),
  stamped as (
    insert into event.event_position (position, event_id, xid, outbox_id, event_created_at, stamped_at)
    select v_cursor.last_position + row_number() over (order by f.outbox_id), f.event_id, f.xid, f.outbox_id, f.created_at, internal.now()
      from firsts f
    returning position, event_id),
  marked as (
    insert into event.event_sequenced (event_id, position) select s.event_id, s.position from stamped s)
  select (select count(*) from fresh), count(*), pg_current_snapshot() into v_taken, v_stamped, v_seen from stamped;

  -- The limit bounds one pass. What is left over was seen by no recorded snapshot: the cursor only moves on when a pass took
  -- everything it saw.
  if v_taken >= p_limit then
    v_seen := v_cursor.seen_snapshot;
    v_system := v_cursor.system_identifier;
  end if;
  if v_stamped > 0 or v_seen::text <> v_cursor.seen_snapshot::text or v_system <> v_cursor.system_identifier then
    update event.sequencer_cursor
       set last_position = v_cursor.last_position + v_stamped, seen_snapshot = v_seen, system_identifier = v_system;
  end if;
  return jsonb_build_object('stamped', v_stamped, 'last_position', v_cursor.last_position + v_stamped, 'more', v_taken >= p_limit);
end
$$;
