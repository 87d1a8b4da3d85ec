create or replace view fsm.v_run_facts with (security_barrier) as
select r.run_id, r.state_machine_id, r.state_code, r.seq, r.head_hash, r.parent_run_id, r.data, r.started_by, r.trace_id, r.correlation_id, r.facet,
       r.created_at, r.last_transition_at
  from fsm.run r;
comment on view fsm.v_run_facts is 'Runs as stored, for the audit: raw columns, nothing derived.';
