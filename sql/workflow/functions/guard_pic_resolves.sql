-- owner: chancery_guard
-- promise: true when an active person is in charge, and who claims as a person is that person
create or replace function workflow.guard_pic_resolves(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  -- Who claims work of a class of people is put in charge by the claim; a look at what could be claimed comes before that.
  if p_context #>> '{actor,class}' in ('pic_human', 'task_pic_human') and p_context #>> '{actor,principal}' is distinct from v_work.pic_id
     and not (v_work.pic_id is null and workflow.may_be_pic(v_work, p_context #>> '{actor,principal}')) then
    return false;
  end if;
  -- Work of an executor may be in the charge of a class of people: somebody of it has to be there.
  return exists (
    select from identity.principal p, workflow.def_of(v_work.run_kind, v_work.def_id) d
     where p.active and case when v_work.pic_id is not null then p.name = v_work.pic_id else d.pic_rule ->> 'class' = any (p.actor_classes) end);
end
$$;
