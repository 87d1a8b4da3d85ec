-- promise: whether there is such a step, task or wait and the reader may see it.
-- callers: chancery_app
create or replace function workflow.fn_work_seen(p_kind text, p_id uuid, p_reader text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_step uuid;
  v_seen boolean;
begin
  v_step := case p_kind
    when 'step' then p_id
    when 'task' then (select t.step_run_id from workflow.task_run t where t.task_run_id = p_id)
    when 'wait' then (select coalesce(t.step_run_id, w.run_id) from workflow.wait w left join workflow.task_run t on t.task_run_id = w.run_id where w.wait_id = p_id) end;
  select not exists (select from workflow.workflow_step_permission p where p.step_def_id = s.step_def_id)
         or s.pic_id = p_reader
         or exists (select from workflow.task_run t where t.step_run_id = s.step_run_id and t.pic_id = p_reader)
         or exists (select from workflow.workflow_step_permission p join identity.principal i on p.actor_class = any (i.actor_classes)
                     where p.step_def_id = s.step_def_id and i.name = p_reader and i.active)
    into v_seen from workflow.step_run s where s.step_run_id = v_step;
  return coalesce(v_seen, false);
end
$$;
