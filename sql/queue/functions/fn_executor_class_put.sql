-- promise: the class stands as given; leases from now on follow it. An inactive class takes no jobs and gives none out.
-- callers: chancery_migrator (the operator)
-- refuses with: RE014 a member out of range or an unknown policy
create or replace function queue.fn_executor_class_put(
  p_executor_class text, p_policy text, p_lease_seconds integer, p_max_payload_bytes integer, p_active boolean, p_description text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if p_executor_class is null or p_executor_class !~ '^[a-z][a-z0-9_]*$' or internal.is_blank(p_description) or p_active is null
     or not coalesce(p_lease_seconds between 1 and 86400 and p_max_payload_bytes between 2 and 1048576, false)
     or not exists (select from queue.retry_policy_registry r where r.policy = p_policy) then
    perform internal.refuse(internal.problem('RE014', jsonb_build_object(
      'executor_class', p_executor_class, 'policy', p_policy, 'policies', (select jsonb_agg(r.policy order by r.policy) from queue.retry_policy_registry r),
      'lease_seconds', p_lease_seconds, 'max_payload_bytes', p_max_payload_bytes)));
  end if;
  insert into queue.executor_class_registry (executor_class, policy, lease_seconds, max_payload_bytes, active, description, registered_at)
  values (p_executor_class, p_policy, p_lease_seconds, p_max_payload_bytes, p_active, p_description, internal.now())
  on conflict (executor_class) do update
    set policy = excluded.policy, lease_seconds = excluded.lease_seconds, max_payload_bytes = excluded.max_payload_bytes, active = excluded.active,
        description = excluded.description, registered_at = excluded.registered_at;
  -- The usual lane is there before the first job: whoever makes one in a long transaction keeps the others waiting.
  insert into queue.lane (executor_class, priority) values (p_executor_class, 100) on conflict do nothing;
  return (select to_jsonb(c) from queue.executor_class_registry c where c.executor_class = p_executor_class);
end
$$;
