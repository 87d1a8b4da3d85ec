-- promise: whether nothing mandatory is left to do in a run, by its counts.
create or replace function workflow.is_complete(p_workflow_run_id uuid) returns boolean
language sql stable
as $$
  select r.completed_count = r.mandatory_count
         and (r.mandatory_count > 0 or not exists (
           select from workflow.step_run s where s.workflow_run_id = r.workflow_run_id and not s.skipped and s.state_code not in ('completed', 'cancelled')))
    from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id
$$;
