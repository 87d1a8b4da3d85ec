-- promise: a worker that does not tick is known with its true last activity, and with a warning: a registration makes nobody healthy.
--          The next check finds it silent if it is. One that is known already is left as it is.
-- callers: chancery_app (system, executor_worker, mow_orchestrator)
-- refuses with: RE022 malformed, RI001–RI004
create or replace function queue.fn_heartbeat_register_passive(
  p_worker_class text, p_worker text, p_executor_kind text, p_last_activity_at timestamptz, p_metadata jsonb, p_principal text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems jsonb := queue.worker_problems(p_worker_class, p_worker, p_executor_kind, p_metadata);
  v_made boolean;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, governance.acting_class(p_principal, '{system,mow_orchestrator,executor_worker}'));
  if v_problems is null and (p_last_activity_at is null or not isfinite(p_last_activity_at) or p_last_activity_at > internal.now()) then
    v_problems := internal.problem('RE022', '{"field": "last_activity_at", "expected": "a time that is over"}');
  end if;
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  insert into queue.queue_heartbeat (worker_class, worker, executor_kind, status, last_tick_at, ticks_total, metadata, registered_at)
  values (p_worker_class, p_worker, p_executor_kind, 'warn', p_last_activity_at, 0, p_metadata, internal.now())
  on conflict do nothing;
  v_made := found;
  if v_made then
    perform queue.note_heartbeat(p_worker_class, p_worker, null, 'warn', null, p_principal);
  end if;
  return jsonb_build_object(
    'registered', v_made,
    'status', (select h.status from queue.queue_heartbeat h where h.worker_class = p_worker_class and h.worker = p_worker));
end
$$;
