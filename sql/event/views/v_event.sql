create or replace view event.v_event with (security_barrier) as
select p.position, o.event_id, o.created_at, o.event_type, o.subject_kind, o.subject_id, o.subject_seq, o.principal, o.trace_id,
       o.correlation_id, o.payload,
       event.cloudevent(o.event_id, o.event_type, o.created_at, p.position, o.subject_kind, o.subject_id, o.subject_seq,
                        l.from_state, l.to_state, o.principal, o.trace_id, o.correlation_id, o.payload) as cloudevent
  from event.event_position p
  join event.event_outbox o on o.xid = p.xid and o.outbox_id = p.outbox_id and o.created_at = p.event_created_at
  join fsm.transition_log l on l.run_id = o.subject_id and l.seq = o.subject_seq and l.log_id = o.event_id;
comment on view event.v_event is 'Events at their positions, for consumers: read with position > last seen, in the order of position.';
