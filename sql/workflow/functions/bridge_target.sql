-- promise: the state that a step which stands for a sub-workflow has to be in, by the state and the colour of that run; null when there is none. What
--          that run gives meets the step's contract and postcondition, as what a person gives would have to: it is completed only then. What
--          does not is a failure of the step, and what nobody can answer yet is waited for.
create or replace function workflow.bridge_target(p_step_run_id uuid) returns text
language sql stable
as $$
  select case
    when r.state_code = 'completed' then case workflow.ending_problem(p_step_run_id) ->> 'why'
      when 'output_contract' then 'failed' when 'postcondition' then 'failed' when 'unanswered' then 'waiting' else 'completed' end
    when r.state_code = 'cancelled' or r.rollup_state_code = 'red' then 'failed'
    when r.state_code = 'paused' or r.rollup_state_code = 'yellow' then 'waiting'
    else 'in_progress' end
    from workflow.workflow_run r where r.parent_step_run_id = p_step_run_id
$$;
