-- promise: whether a person in charge is named and can act, or a class of people is and somebody of it can.
-- callers: chancery_app, and the guard G-PIC-RESOLVES
create or replace function workflow.fn_step_pic_resolves(p_step_run_id uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from workflow.step_run s join workflow.workflow_step_def d on d.step_def_id = s.step_def_id, identity.principal p
     where s.step_run_id = p_step_run_id and p.active
       and case when s.pic_id is not null then p.name = s.pic_id else d.pic_rule ->> 'class' = any (p.actor_classes) end)
$$;
