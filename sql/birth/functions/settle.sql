-- promise: this permit, and every other that this transaction consumed and that led to a birth, is finalized; or failed, where no row
--          came of the insert (ON CONFLICT DO NOTHING, a trigger that returned null or rewrote the code). Both moves of each stand in
--          the log, chained, with their events: one statement for all of them.
-- callers: birth.permit_equals_log, at COMMIT. One plan for all calls, as in birth.reserve.
-- arrow: RESERVED → CONSUMED → FINALIZED | FAILED
-- locks: none more: the gate's compare-and-set holds every permit that is settled here
-- refuses with: RS004, RE001
create or replace function birth.settle(p_permit_id uuid) returns void
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_xid xid8 := pg_current_xact_id();
  v_permits uuid[];
  v_machine text;
  v_consume fsm.transition_def;
  v_finalize fsm.transition_def;
  v_fail fsm.transition_def;
  v_at timestamptz;
begin
  -- Those that led to a birth are found by it. What is left over afterwards led to none, and comes one by one.
  v_permits := array(select b.permit_id from birth.birth_registry b where b.xid = v_xid and b.permit_id is not null) || p_permit_id;
  perform set_config('chancery.settling', v_xid::text, true);
  for v_machine in
    select distinct p.state_machine_id from birth.birth_admission_permit p
     where p.permit_id = any (v_permits) and p.status = 'CONSUMED' and p.consumed_xid = v_xid
  loop
    v_consume := birth.edge(v_machine, 'RESERVED', 'CONSUMED', 'system');
    v_finalize := birth.edge(v_machine, 'CONSUMED', 'FINALIZED', 'system');
    v_fail := birth.edge(v_machine, 'CONSUMED', 'FAILED', 'system');
    v_at := greatest(internal.now(), (select max(p.consumed_at) from birth.birth_admission_permit p where p.permit_id = any (v_permits) and p.consumed_xid = v_xid));
    with consumed as materialized (
      select p.permit_id, p.seq, p.head_hash, p.trace_id, p.correlation_id, p.consumed_at, b.birth_id, sha256(b.row_digest) as digest,
             concat('{"login":', to_json(p.consumed_by::text), '}') as consume_evidence,
             case when b.birth_id is not null then concat('{"finalized_birth_id":"', b.birth_id, '"}')
                  else '{"failure_reason":"the insert left no row under this code"}' end as payload,
             b.birth_id is not null as born, internal.uuid_v7() as consume_id, internal.uuid_v7() as end_id
        from birth.birth_admission_permit p left join birth.birth_registry b on b.permit_id = p.permit_id
       where p.permit_id = any (v_permits) and p.status = 'CONSUMED' and p.consumed_xid = v_xid and p.state_machine_id = v_machine),
    hashed as materialized (
      select c.*, case when c.born then concat('{"event":', c.payload, '}') else concat('{"event":', c.payload, ',', substr(c.payload, 2)) end as end_evidence,
             internal.log_hash(
               c.permit_id, c.seq + 1, c.consume_id, 'birth_permit', v_machine, v_consume.transition_id, 'RESERVED', 'CONSUMED', null, 'chancery', 'system',
               v_consume.trigger_kind, v_consume.trigger_ref, null, c.consume_evidence, v_consume.emitted_event_type, null, 'consume', null, null,
               c.consumed_at, c.head_hash) as consume_hash
        from consumed c),
    chained as materialized (
      select h.*, case when h.born then
               internal.log_hash(
                 h.permit_id, h.seq + 2, h.end_id, 'birth_permit', v_machine, v_finalize.transition_id, 'CONSUMED', 'FINALIZED', null, 'chancery', 'system',
                 v_finalize.trigger_kind, v_finalize.trigger_ref, null, h.end_evidence, v_finalize.emitted_event_type, h.digest, 'finalize', null, null,
                 v_at, h.consume_hash)
             else
               internal.log_hash(
                 h.permit_id, h.seq + 2, h.end_id, 'birth_permit', v_machine, v_fail.transition_id, 'CONSUMED', 'FAILED', null, 'chancery', 'system',
                 v_fail.trigger_kind, v_fail.trigger_ref, null, h.end_evidence, v_fail.emitted_event_type, null, 'fail', null, null, v_at, h.consume_hash)
             end as end_hash
        from hashed h),
    moved as (
      update birth.birth_admission_permit p
         set status = case when h.born then 'FINALIZED' else 'FAILED' end, finalized_birth_id = h.birth_id, seq = h.seq + 2, head_hash = h.end_hash,
             last_transition_at = v_at
        from chained h where p.permit_id = h.permit_id),
    logged as (
      insert into fsm.transition_log (
        run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class, trigger_kind, trigger_ref, evidence,
        event_type, artefact_digest, idempotency_key, at, prev_hash, hash)
      select h.permit_id, h.seq + 1, h.consume_id, 'birth_permit', v_machine, v_consume.transition_id, 'RESERVED', 'CONSUMED', 'chancery', 'system',
             v_consume.trigger_kind, v_consume.trigger_ref, h.consume_evidence, v_consume.emitted_event_type, null, 'consume', h.consumed_at, h.head_hash, h.consume_hash
        from chained h
      union all
      select h.permit_id, h.seq + 2, h.end_id, 'birth_permit', v_machine, case when h.born then v_finalize.transition_id else v_fail.transition_id end, 'CONSUMED',
             case when h.born then 'FINALIZED' else 'FAILED' end, 'chancery', 'system',
             case when h.born then v_finalize.trigger_kind else v_fail.trigger_kind end, case when h.born then v_finalize.trigger_ref else v_fail.trigger_ref end,
             h.end_evidence, case when h.born then v_finalize.emitted_event_type else v_fail.emitted_event_type end, h.digest,
             case when h.born then 'finalize' else 'fail' end, v_at, h.consume_hash, h.end_hash
        from chained h)
    insert into event.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
    select h.consume_id, h.consumed_at, v_consume.emitted_event_type, 'birth_permit', h.permit_id, h.seq + 1, 'chancery', h.trace_id, h.correlation_id, '{}'
      from chained h where v_consume.emitted_event_type is not null
    union all
    select h.end_id, v_at, case when h.born then v_finalize.emitted_event_type else v_fail.emitted_event_type end, 'birth_permit', h.permit_id, h.seq + 2,
           'chancery', h.trace_id, h.correlation_id, h.payload::jsonb
      from chained h where case when h.born then v_finalize.emitted_event_type else v_fail.emitted_event_type end is not null;
  end loop;
  perform set_config('chancery.settling', '', true);
end
$$;
