-- promise: the state that a step which stands for a sub-workflow has to be in, by the state and the colour of that run; null when there is none.
create or replace function workflow.bridge_target(p_step_run_id uuid) returns text
language sql stable
as $$
  select case
    when r.state_code = 'completed' then 'completed'
    when r.state_code = 'cancelled' or r.rollup_state_code = 'red' then 'failed'
    when r.state_code = 'paused' or r.rollup_state_code = 'yellow' then 'waiting'
    else 'in_progress' end
    from workflow.workflow_run r where r.parent_step_run_id = p_step_run_id
$$;
