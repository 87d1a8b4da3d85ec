create or replace view event.v_event with (security_barrier) as
select p.position, o.event_id, o.created_at, o.event_type, r.event_stream, o.subject_kind, o.subject_id, o.subject_seq, o.principal,
       o.trace_id, o.correlation_id, o.payload,
       jsonb_build_object(
         'specversion', '1.0', 'id', o.event_id, 'source', '/chancery/' || o.subject_kind, 'type', o.event_type,
         'subject', o.subject_id, 'time', to_char(o.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
         'datacontenttype', 'application/json', 'sequence', p.position,
         'traceparent', '00-' || o.trace_id || '-' || right(replace(o.event_id::text, '-', ''), 16) || '-01',
         'correlationid', o.correlation_id,
         'data', o.payload || jsonb_build_object('run_kind', o.subject_kind, 'run_id', o.subject_id, 'seq', o.subject_seq,
                   'from', l.from_state, 'to', l.to_state, 'principal', o.principal)) as cloudevent
  from event.event_outbox o
  join event.event_type_registry r using (event_type)
  left join fsm.transition_log l on l.run_id = o.subject_id and l.seq = o.subject_seq
  left join event.event_sequenced p on p.event_id = o.event_id;
comment on view event.v_event is 'Events with their position (null until the sequencer has seen them) and as CloudEvents 1.0.';
