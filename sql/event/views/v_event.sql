-- Each `offset 0` keeps the plan to one look by key for each position, whatever statistics say: joined as a whole, a page of fifty
-- read the entire outbox, and on young statistics compared every event with every position.
create or replace view event.v_event with (security_barrier) as
select p.position, o.event_id, o.created_at, o.event_type, o.subject_kind, o.subject_id, o.subject_seq, o.principal, o.trace_id,
       o.correlation_id, o.payload,
       event.cloudevent(o.event_id, o.event_type, o.created_at, p.position, o.subject_kind, o.subject_id, o.subject_seq,
                        l.from_state, l.to_state, o.principal, o.trace_id, o.correlation_id, o.payload) as cloudevent,
       l.from_state, l.to_state
  from event.event_position p
 cross join lateral (
   select x.event_id, x.created_at, x.event_type, x.subject_kind, x.subject_id, x.subject_seq, x.principal, x.trace_id,
          x.correlation_id, x.payload
     from event.event_outbox x
    where x.xid = p.xid and x.outbox_id = p.outbox_id and x.created_at = p.event_created_at offset 0) o
 cross join lateral (
   select t.from_state, t.to_state
     from fsm.transition_log t
    where t.run_id = o.subject_id and t.seq = o.subject_seq and t.log_id = o.event_id offset 0) l;
comment on view event.v_event is
  'Events at their positions. Read a window of positions (position > 1000 and position <= 1500); event.fn_events_after does so page by page.';
