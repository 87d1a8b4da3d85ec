-- promise: what a step in a state adds to the colour of its run: by the semantic class that the state has in the registry, and by the
--          active policy for blocks that count as red and for work past its deadline. Nothing for an optional or skipped step, and none
--          for a task.
create or replace function workflow.rollup_class(p_work workflow.work, p_state text) returns text
language plpgsql stable
as $$
declare
  v_run record;
  v_policy jsonb;
  v_class text;
begin
  if p_work.run_kind <> 'step' or not p_work.mandatory or p_work.skipped then
    return 'none';
  end if;
  select d.semantic_class into v_class
    from workflow.step_run s join fsm.state_def d on d.state_machine_id = s.state_machine_id and d.state_code = p_state
   where s.step_run_id = p_work.run_id;
  if p_state = 'blocked' then
    select r.workflow_class, r.state_machine_id into v_run from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id;
    v_policy := workflow.rollup_policy(v_run.state_machine_id);
    if v_policy -> 'blocked_escalation_treats_as_red' = 'true' and workflow.block_is_red(p_work, v_run.workflow_class) then
      return 'red';
    end if;
  elsif v_class in ('active', 'wait') and workflow.is_past_deadline(p_state, p_work.deadline, internal.now()) then
    select r.state_machine_id into v_run from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id;
    if workflow.rollup_policy(v_run.state_machine_id) -> 'late_treats_as_red' = 'true' then
      return 'red';
    end if;
  end if;
  return case v_class when 'idle' then 'gray' when 'wait' then 'yellow' when 'red' then 'red' else 'green' end;
end
$$;
