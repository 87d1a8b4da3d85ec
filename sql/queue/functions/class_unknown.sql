-- promise: the problem that no active executor class has one of these names, with the names that there are.
create or replace function queue.class_unknown(p_classes jsonb) returns jsonb
language sql stable
as $$
  select internal.problem('RE006', jsonb_build_object('classes', p_classes, 'known', (
    select coalesce(jsonb_agg(c.executor_class order by c.executor_class), '[]') from queue.executor_class_registry c where c.active)))
$$;
