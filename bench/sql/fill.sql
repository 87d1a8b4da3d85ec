-- A million moves of a hundred thousand finished runs, in both logs and both outboxes. Triggers are off: this is ballast;
-- the caller arms them again.
set session_replication_role = replica;
alter table fsm.transition_log disable trigger user;
alter table event.event_outbox disable trigger user;
create temporary table ballast_run as select internal.uuid_v7() as run_id from generate_series(1, 100000);
create temporary table ballast as
select r.run_id, s.seq, internal.uuid_v7() as log_id, 'custom' as run_kind, 'pendulum@1.0.0' as state_machine_id,
       'pendulum@1.0.0#swing:left>right/executor_worker' as transition_id, case when s.seq > 1 then 'left' end as from_state,
       'right' as to_state, 'bench' as principal, 'executor_worker' as actor_class, 'rpc' as trigger_kind, 'swing' as trigger_ref,
       '{"note":"swing"}' as evidence, 'pendulum.swung' as event_type, gen_random_uuid()::text as idempotency_key, now() as at,
       case when s.seq > 1 then sha256(r.run_id::text::bytea) end as prev_hash, sha256(r.run_id::text::bytea) as hash
  from ballast_run r, generate_series(1, 10) s (seq);
insert into fsm.transition_log (run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class,
  trigger_kind, trigger_ref, evidence, event_type, idempotency_key, at, prev_hash, hash)
select run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class, trigger_kind, trigger_ref,
       evidence, event_type, idempotency_key, at, prev_hash, hash from ballast;
insert into event.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
select log_id, at, event_type, run_kind, run_id, seq, principal, replace(run_id::text, '-', ''), run_id::text, '{}' from ballast;
insert into bench.transition_log select * from fsm.transition_log where run_id in (select run_id from ballast_run);
insert into bench.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
select log_id, at, event_type, run_kind, run_id, seq, principal, replace(run_id::text, '-', ''), run_id::text, '{}' from ballast;
