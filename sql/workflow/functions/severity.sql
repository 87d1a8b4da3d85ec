-- promise: how bad a block is, yellow_dark or red; null when there is none.
create or replace function workflow.severity(p_work workflow.work) returns text
language sql stable
as $$
  select case when workflow.block_is_red(p_work, r.workflow_class) then 'red' else 'yellow_dark' end
    from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id and p_work.state_code = 'blocked'
$$;
