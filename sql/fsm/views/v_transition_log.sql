create or replace view fsm.v_transition_log with (security_barrier) as
select l.run_id, l.seq, l.log_id, l.run_kind, l.state_machine_id, l.transition_id, l.from_state, l.to_state, l.facet, l.principal, l.actor_class,
       l.trigger_kind, l.trigger_ref, l.reason, l.evidence, l.event_type, l.artefact_digest, l.idempotency_key, l.key_id, l.signature,
       l.at, l.prev_hash, l.hash, l.hash_version
  from fsm.transition_log l;
comment on view fsm.v_transition_log is 'The log, for reading and for the audit: raw columns, nothing rendered.';
