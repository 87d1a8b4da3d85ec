-- owner: chancery_guard
-- promise: true when the actor is the person in charge right now
create or replace function workflow.guard_current_pic(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return p_context #>> '{actor,principal}' = v_work.pic_id;
end
$$;
