-- promise: the reader began the run or is the person in charge of it, or of the run that it is part of.
create or replace function audit.is_in_charge(p_reader text, p_run_kind text, p_run_id uuid) returns boolean
language sql stable
as $$
  select case p_run_kind
    when 'step' then exists (select from workflow.step_run s join workflow.workflow_run w on w.workflow_run_id = s.workflow_run_id
                              where s.step_run_id = p_run_id and p_reader in (s.pic_id, w.started_by))
    when 'task' then exists (select from workflow.task_run t join workflow.workflow_run w on w.workflow_run_id = t.workflow_run_id
                              where t.task_run_id = p_run_id and p_reader in (t.pic_id, w.started_by))
    when 'workflow_run' then exists (select from workflow.workflow_run w where w.workflow_run_id = p_run_id and w.started_by = p_reader)
    when 'custom' then exists (select from fsm.run r where r.run_id = p_run_id and r.started_by = p_reader)
    when 'job' then exists (select from queue.job_queue q where q.job_id = p_run_id and q.started_by = p_reader)
    when 'dlq_replay' then exists (select from queue.dlq_replay_request y where y.dlq_replay_request_id = p_run_id and y.started_by = p_reader)
    when 'cut_request' then exists (select from cutter_governance.decision_backlog_entry e where e.entry_id = p_run_id and e.started_by = p_reader)
    when 'orchestrator_run' then exists (select from orchestrator.run o where o.run_id = p_run_id and o.started_by = p_reader)
    when 'workflow_change' then exists (select from workflow.workflow_change_requests x where x.change_request_id = p_run_id and x.started_by = p_reader)
    when 'proposal' then exists (select from governance.proposal g where g.proposal_id = p_run_id and g.started_by = p_reader)
    when 'birth_permit' then exists (select from birth.birth_admission_permit b where b.permit_id = p_run_id and b.started_by = p_reader)
    else false end
$$;
