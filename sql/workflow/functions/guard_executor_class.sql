-- owner: chancery_guard
-- promise: true when people take up work of people and workers take up work of a class that there is
create or replace function workflow.guard_executor_class(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  if p_context #>> '{actor,class}' = 'executor_worker' then
    return exists (select from queue.executor_class_registry c where c.executor_class = v_work.executor_class_ref and c.active);
  end if;
  return v_work.executor_class_ref = 'human';
end
$$;
