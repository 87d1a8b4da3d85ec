-- promise: the steps on the critical path are marked, and no others; a block that is on it now, or no longer, has the colour that follows.
--          Only rows that change are written.
-- callers: workflow.fn_mow_turn, with the run locked
create or replace function workflow.refresh_critical_path(p_run workflow.workflow_run) returns integer
language plpgsql
as $$
declare
  v_path constant integer[] := workflow.critical_path(p_run.workflow_run_id);
  v_step_run_id uuid;
  v_blocked uuid[];
begin
  with changed as (
    update workflow.step_run s set on_critical_path = not s.on_critical_path
      from (select s.step_run_id from workflow.step_run s left join unnest(v_path) n on n = s.step_no
             where s.workflow_run_id = p_run.workflow_run_id and s.on_critical_path <> (n is not null)) c
     where s.step_run_id = c.step_run_id
    returning s.step_run_id, s.state_code)
  select coalesce(array_agg(c.step_run_id) filter (where c.state_code = 'blocked'), '{}') into v_blocked from changed c;
  foreach v_step_run_id in array v_blocked loop
    perform workflow.recolour(workflow.take('step', v_step_run_id));
  end loop;
  update workflow.workflow_run r set critical_due = false where r.workflow_run_id = p_run.workflow_run_id;
  return 1;
end
$$;
