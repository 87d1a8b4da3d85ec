-- promise: a worker of an executor class says over a host that it lives, and is seen where workers are seen, under its principal's name and its
--          own; so nobody keeps another principal's worker alive. With p_leaving it ends in good order and is not missed.
-- callers: chancery_app, for workers that speak HTTP
-- locks: the worker's row (update), then its finding (update)
-- refuses with: RE018 no name of a worker, RE006 no such class, RE022 malformed, RE023 silent workers do not leave, RI001–RI004
create or replace function queue.fn_worker_heartbeat(
  p_executor_class text, p_worker text, p_ok boolean, p_leaving boolean, p_metadata jsonb, p_principal text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_owner constant text := queue.lease_owner(p_worker, p_principal, 1);
begin
  if not exists (select from queue.executor_class_registry c where c.executor_class = p_executor_class and c.active) then
    perform internal.refuse(queue.class_unknown(jsonb_build_array(p_executor_class)));
  end if;
  if p_leaving then
    return queue.fn_heartbeat_deregister(p_executor_class, v_owner, p_principal) || jsonb_build_object('worker', v_owner);
  end if;
  return queue.fn_heartbeat_tick(p_executor_class, v_owner, p_ok, p_metadata, p_principal, 'external_worker') || jsonb_build_object('worker', v_owner);
end
$$;
