create or replace view fsm.v_history with (security_barrier) as
select l.run_id, l.seq, l.at, l.from_state, l.to_state, l.principal, l.actor_class, l.trigger_kind || ':' || l.trigger_ref as trigger,
       l.transition_id, l.reason, l.evidence::jsonb as evidence, l.event_type, s.position as event_position, l.idempotency_key,
       l.signature is not null as signed, encode(l.hash, 'hex') as hash,
       case when l.event_type is not null then
         event.cloudevent(l.log_id, l.event_type, l.at, s.position, l.run_kind, l.run_id, l.seq, l.from_state, l.to_state, l.principal,
                          r.trace_id, r.correlation_id, coalesce(l.evidence::jsonb -> 'event', '{}'))
       end as cloudevent
  from fsm.transition_log l
  join fsm.run r using (run_id)
  left join event.event_sequenced s on s.event_id = l.log_id;
comment on view fsm.v_history is 'The moves of custom runs with their events; the position is null until the sequencer has seen it.';
