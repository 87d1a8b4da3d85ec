-- promise: inside a rehearsal, a permit whose time ran out is expired, as birth.expire would do it; the transaction that says so cannot
--          be committed. Nothing else may call this: the engine is not asked.
-- callers: birth.reserve
-- arrow: RESERVED → EXPIRED
create or replace function birth.rehearse_expiry(p_permit_id uuid) returns void
language plpgsql
as $$
declare
  v_at timestamptz := internal.now();
  v_log_id uuid := internal.uuid_v7();
  v_permit birth.birth_admission_permit;
  v_edge fsm.transition_def;
  v_hash bytea;
begin
  if not exists (select from birth.rehearsal r where r.xid = pg_current_xact_id()) then
    raise exception 'only a rehearsal expires permits like this';
  end if;
  select p.* into v_permit from birth.birth_admission_permit p where p.permit_id = p_permit_id and p.status = 'RESERVED' and p.expires_at <= v_at for update;
  if not found then
    return;
  end if;
  v_edge := birth.edge(v_permit.state_machine_id, 'RESERVED', 'EXPIRED', 'system');
  v_hash := internal.log_hash(
    p_permit_id, v_permit.seq + 1, v_log_id, 'birth_permit', v_permit.state_machine_id, v_edge.transition_id, 'RESERVED', 'EXPIRED', null, 'chancery', 'system',
    v_edge.trigger_kind, v_edge.trigger_ref, null, '{}', v_edge.emitted_event_type, null, 'expire', null, null, v_at, v_permit.head_hash);
  update birth.birth_admission_permit p set status = 'EXPIRED', seq = p.seq + 1, head_hash = v_hash, last_transition_at = v_at where p.permit_id = p_permit_id;
  insert into fsm.transition_log (
    run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class, trigger_kind, trigger_ref, evidence,
    event_type, idempotency_key, at, prev_hash, hash)
  values (
    p_permit_id, v_permit.seq + 1, v_log_id, 'birth_permit', v_permit.state_machine_id, v_edge.transition_id, 'RESERVED', 'EXPIRED', 'chancery', 'system',
    v_edge.trigger_kind, v_edge.trigger_ref, '{}', v_edge.emitted_event_type, 'expire', v_at, v_permit.head_hash, v_hash);
end
$$;
