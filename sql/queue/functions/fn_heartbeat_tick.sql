-- promise: the worker's last sign of life is now; a worker that was not known is. A silent one is ok again only by a tick that was
--          well, while its class is not frozen, and with finding.recovered in this transaction; otherwise it stays silent.
-- callers: chancery_app (loops, workers), cutter_exec, cutter_verify
-- locks: the worker's row (update), then its finding (update)
-- refuses with: RE022 malformed, RI001–RI004
create or replace function queue.fn_heartbeat_tick(
  p_worker_class text, p_worker text, p_ok boolean, p_metadata jsonb, p_principal text, p_executor_kind text default 'PG_worker'
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems jsonb;
  v_now timestamptz;
  v_row record;
  v_status text;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, governance.acting_class(
    p_principal, '{system,mow_orchestrator,executor_worker,executor_dot991,verifier_dot992}'));
  v_problems := queue.worker_problems(p_worker_class, p_worker, p_executor_kind, p_metadata);
  if v_problems is null and p_ok is null then
    v_problems := internal.problem('RE022', '{"field": "ok", "expected": "true or false"}');
  end if;
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  v_now := internal.now();
  v_status := case when p_ok then 'ok' else 'warn' end;

  with before as (
    select h.status, h.issue_id from queue.queue_heartbeat h where h.worker_class = p_worker_class and h.worker = p_worker for update)
  update queue.queue_heartbeat h
     set last_tick_at = greatest(h.last_tick_at, v_now), last_ok_at = case when p_ok then greatest(h.last_ok_at, v_now) else h.last_ok_at end,
         ticks_total = h.ticks_total + 1, metadata = p_metadata, executor_kind = p_executor_kind,
         status = case h.status when 'silent' then 'silent' else v_status end
    from before
   where h.worker_class = p_worker_class and h.worker = p_worker
  returning before.status as was, h.status as is_now, h.issue_id into v_row;
  if not found then
    insert into queue.queue_heartbeat (worker_class, worker, executor_kind, status, last_tick_at, last_ok_at, ticks_total, metadata, registered_at)
    values (p_worker_class, p_worker, p_executor_kind, v_status, v_now, case when p_ok then v_now end, 1, p_metadata, v_now)
    on conflict do nothing;
    if not found then
      -- Somebody else registered it meanwhile: now there is a row to tick.
      return queue.fn_heartbeat_tick(p_worker_class, p_worker, p_ok, p_metadata, p_principal, p_executor_kind);
    end if;
    perform queue.note_heartbeat(p_worker_class, p_worker, null, v_status, null, p_principal);
    return jsonb_build_object('status', v_status, 'was', null, 'recovered', false);
  end if;

  if v_row.is_now = 'silent' and p_ok and not queue.is_frozen(p_worker_class) then
    return queue.recover(p_worker_class, p_worker, p_principal);
  end if;
  if v_row.is_now <> v_row.was then
    perform queue.note_heartbeat(p_worker_class, p_worker, v_row.was, v_row.is_now, null, p_principal);
  end if;
  return jsonb_build_object('status', v_row.is_now, 'was', v_row.was, 'recovered', false);
end
$$;
