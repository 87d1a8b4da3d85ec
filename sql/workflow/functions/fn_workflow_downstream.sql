-- promise: the open steps that cannot begin because something before them waits, is blocked, is late, failed or cannot be done; each with
--          the first step that holds it up.
-- callers: chancery_app, auditor_ro
create or replace function workflow.fn_workflow_downstream(p_workflow_run_id uuid) returns table (step_run_id uuid, held_by uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  with recursive held as (
    select w.to_no, s.step_no as by_no
      from workflow.workflow_run r
      join workflow.step_run s on s.workflow_run_id = r.workflow_run_id and s.state_code in ('waiting', 'blocked', 'overdue', 'failed', 'cannot_complete')
      join workflow.workflow_step_relations w on w.workflow_def_id = r.workflow_def_id and w.from_no = s.step_no
     where r.workflow_run_id = p_workflow_run_id
    union
    select w.to_no, h.by_no
      from held h
      join workflow.workflow_run r on r.workflow_run_id = p_workflow_run_id
      join workflow.workflow_step_relations w on w.workflow_def_id = r.workflow_def_id and w.from_no = h.to_no)
  select s.step_run_id, b.step_run_id
    from (select h.to_no, min(h.by_no) as by_no from held h group by h.to_no) h
    join workflow.step_run s on s.workflow_run_id = p_workflow_run_id and s.step_no = h.to_no and s.state_code = 'not_started' and not s.skipped
    join workflow.step_run b on b.workflow_run_id = p_workflow_run_id and b.step_no = h.by_no
   order by s.step_no
$$;
