-- promise: the steps that have not begun because something before them holds them up, as far as the reader may see them; what holds them
--          up is left out where the reader may not see it.
-- callers: chancery_app
-- refuses with: RW001
create or replace function workflow.fn_downstream_seen(p_workflow_run_id uuid, p_reader text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_hidden constant text[] := workflow.hidden_of_run(p_workflow_run_id, p_reader);
begin
  if not exists (select from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id) then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_run', 'id', p_workflow_run_id)));
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'step_id', s.step_run_id, 'step', s.step_key, 'held_by', case when h.step_key <> all (v_hidden) then h.step_run_id end,
             'held_by_step', case when h.step_key <> all (v_hidden) then h.step_key end) order by s.step_no), '[]')
      from workflow.fn_workflow_downstream(p_workflow_run_id) d
      join workflow.step_run s on s.step_run_id = d.step_run_id
      join workflow.step_run h on h.step_run_id = d.held_by
     where s.step_key <> all (v_hidden));
end
$$;
