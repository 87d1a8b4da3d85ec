-- owner: chancery_guard
-- promise: true when an active person is in charge, and who claims as a person is that person
create or replace function workflow.guard_pic_resolves(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return exists (select from identity.principal p where p.name = v_work.pic_id and p.active)
     and (p_context #>> '{actor,class}' not in ('pic_human', 'task_pic_human') or p_context #>> '{actor,principal}' = v_work.pic_id);
end
$$;
