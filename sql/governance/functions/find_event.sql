-- promise: what an event says about itself: {event_type, subject_kind, subject_id, at}; null when there is none of this id. By its position, or,
--          while it has none, among those that the sequencer has not seen. A row that somebody forged beside the log is no event.
create or replace function governance.find_event(p_event_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object('event_type', o.event_type, 'subject_kind', o.subject_kind, 'subject_id', o.subject_id, 'at', o.created_at)
    from (select e.event_type, e.subject_kind, e.subject_id, e.subject_seq, e.event_id, e.created_at
            from event.event_sequenced s
            join event.event_position p on p.position = s.position
            join event.event_outbox e on e.xid = p.xid and e.outbox_id = p.outbox_id and e.created_at = p.event_created_at
           where s.event_id = p_event_id and e.event_id = p_event_id
          union all
          select e.event_type, e.subject_kind, e.subject_id, e.subject_seq, e.event_id, e.created_at
            from event.event_outbox e
           where e.xid >= coalesce((select pg_snapshot_xmin(c.seen_snapshot) from event.sequencer_cursor c), '0'::xid8) and e.event_id = p_event_id) o
   where exists (select from fsm.transition_log l where l.run_id = o.subject_id and l.seq = o.subject_seq and l.log_id = o.event_id)
   limit 1
$$;
