-- promise: the run of the sub-workflow that the step stands for keeps its state and colour until the transaction ends.
-- locks: that run (share), after the run of the step: ancestors first
create or replace function workflow.lock_sub_run(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
begin
  perform from workflow.workflow_run r where p_run_kind = 'step' and r.parent_step_run_id = p_run_id order by r.workflow_run_id for share;
end
$$;
