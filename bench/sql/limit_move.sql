-- What a program that knows the rules by heart would send: the values of the move, and nothing is asked.
with r as (
  select r.run_id, r.seq, r.state_machine_id, r.state_code, r.head_hash, r.trace_id, r.correlation_id,
         internal.uuid_v7() as log_id, internal.now() as at
    from bench.run r where r.run_id = $1),
h as (
  select r.*, internal.log_hash(
           r.run_id, r.seq + 1, r.log_id, 'custom', r.state_machine_id, $4, r.state_code, $2,
           null, $5, $6, $7, $8, null, $9, $10, null, $3, null, null, r.at, r.head_hash) as hash
    from r),
moved as (
  update bench.run x
     set state_code = $2, seq = h.seq + 1, head_hash = h.hash, last_transition_at = h.at
    from h where x.run_id = h.run_id and x.seq = h.seq
  returning x.run_id),
logged as (
  insert into bench.transition_log (run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal,
    actor_class, trigger_kind, trigger_ref, reason, evidence, event_type, idempotency_key, at, prev_hash, hash)
  select h.run_id, h.seq + 1, h.log_id, 'custom', h.state_machine_id, $4, h.state_code, $2, $5,
         $6, $7, $8, null, $9, $10, $3, h.at, h.head_hash, h.hash
    from h join moved using (run_id))
insert into bench.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
select h.log_id, h.at, $10, 'custom', h.run_id, h.seq + 1, $5, h.trace_id, h.correlation_id, '{}'
  from h join moved using (run_id)
