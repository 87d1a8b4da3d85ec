create or replace view queue.v_history with (security_barrier) as
select l.run_kind, l.run_id, l.seq, l.at, l.from_state, l.to_state, l.principal, l.actor_class, l.trigger_kind || ':' || l.trigger_ref as trigger, l.reason,
       l.evidence::jsonb as evidence, l.event_type, l.signature is not null as signed, encode(l.hash, 'hex') as hash
  from fsm.transition_log l where l.run_kind in ('job', 'dlq_replay');
comment on view queue.v_history is 'What the log has of jobs and their replays: deaths, and what people did.';
