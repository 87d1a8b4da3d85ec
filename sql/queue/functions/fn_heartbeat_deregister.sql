-- promise: a worker that ends in good order is forgotten, so nobody reports it silent. One that is silent stays: it ticks first.
-- callers: chancery_app, cutter_exec, cutter_verify
-- locks: the worker's row (update)
-- refuses with: RE023 it is silent, RI001–RI004
create or replace function queue.fn_heartbeat_deregister(p_worker_class text, p_worker text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_row record;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, governance.acting_class(
    p_principal, '{system,mow_orchestrator,executor_worker,executor_dot991,verifier_dot992}'));
  delete from queue.queue_heartbeat h where h.worker_class = p_worker_class and h.worker = p_worker
  returning h.status, h.issue_id into v_row;
  if not found then
    return '{"removed": false}';
  end if;
  perform queue.note_heartbeat(p_worker_class, p_worker, v_row.status, null, v_row.issue_id, p_principal);
  return '{"removed": true}';
end
$$;
