-- promise: finished jobs are written by the doors alone, also into a partition by its own name: triggers of statements do not reach
--          partitions. A test of its own instead of a clause on the trigger, which PostgreSQL would parse again in every statement.
-- refuses with: RS016
create or replace function queue.only_by_the_doors() returns trigger
language plpgsql
as $$
begin
  if current_user = 'chancery_definer' and session_user = 'chancery_app' then
    return new;
  end if;
  perform internal.refuse(internal.problem('RS016', jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user)));
  return null;
end
$$;
