-- promise: the classes that may freeze and thaw the workers of a class: those that settle problems, as the machine of findings says.
-- callers: queue.fn_heartbeat_freeze, queue.fn_freeze_actions
create or replace function queue.freezing_classes() returns text[]
language sql stable
as $$
  select coalesce(array_agg(c.actor_class order by c.actor_class), '{}')
    from identity.v_class_permission c where c.permission = 'problems.settle' and c.actor_class is not null
$$;
