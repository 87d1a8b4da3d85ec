-- promise: moves to which the short way is open, of runs that are all different, made in one statement: compare-and-set, log rows and
--          events. The reports of those that were made. A run that moved since it was looked at is left alone and not told of; it is
--          locked by then, so who asks again waits for nobody.
-- callers: fsm.fn_state_transition_apply_batch
-- locks: the runs, in the order given
--
-- What a statement costs before its first row (constraints, indexes, triggers) is paid once for all of them. The settings, and naming
-- the runs a second time, keep it to the rows of these runs and to one comparison each, whatever statistics say. (The loop over the
-- locks stands outside of them. It looks dear to the planner, which would compile it; that is off for every login.)
create or replace function fsm.move_together(p_moves fsm.batched_move[]) returns table (place bigint, report json)
language plpgsql
set enable_seqscan = off set enable_nestloop = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_runs uuid[] := array(select m.run_id from unnest(p_moves) m);
begin
  return query
  -- lock: each run as it is reached, also one that has moved: it is asked for once more, and that may not break the order. The time is
  -- read after that, so it is later than that of the move which this one follows.
  with held as materialized (
    select m.*, m.seq + 1 as next, internal.canonical_evidence(m.evidence, m.evidence_text) as canonical,
           greatest(internal.now(), run.last_transition_at) as at, internal.uuid_v7() as log_id
      from unnest(p_moves) m,
           lateral (select r.seq, r.last_transition_at from fsm.run r where r.run_id = m.run_id for no key update) run
     where run.seq = m.seq
  ), hashed as materialized (
    select h.*, internal.log_hash(
             h.run_id, h.next, h.log_id, h.run_kind, h.state_machine_id, h.transition_id, h.left_state, h.to_state, null, h.principal,
             h.actor_class, h.trigger_kind, h.trigger_ref, h.reason, h.canonical, h.event_type, h.artefact_digest, h.idempotency_key,
             null, null, h.at, h.prev_hash) as hash
      from held h
  ), moved as (
    update fsm.run r
       set state_code = h.to_state, facet = null, seq = h.next, head_hash = h.hash, last_transition_at = h.at
      from hashed h where r.run_id = h.run_id and r.run_id = any (v_runs)
  ), logged as (
    insert into fsm.transition_log (
      run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class,
      trigger_kind, trigger_ref, reason, evidence, event_type, artefact_digest, idempotency_key, at, prev_hash, hash)
    select h.run_id, h.next, h.log_id, h.run_kind, h.state_machine_id, h.transition_id, h.left_state, h.to_state, h.principal, h.actor_class,
           h.trigger_kind, h.trigger_ref, h.reason, h.canonical, h.event_type, h.artefact_digest, h.idempotency_key, h.at, h.prev_hash, h.hash
      from hashed h
  ), told as (
    insert into event.event_outbox (
      event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
    select h.log_id, h.at, h.event_type, h.run_kind, h.run_id, h.next, h.principal, h.trace_id, h.correlation_id, '{}'
      from hashed h where h.event_type is not null
  )
  select h.place, fsm.accepted(h.run_id, h.transition_id, h.event_type, h.left_state, h.to_state, h.next, h.hash, false)
    from hashed h;
end
$$;
