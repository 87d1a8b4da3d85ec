-- promise: the runs of every kind that a trace goes through; empty when there are none. By indexes alone.
create or replace function audit.runs_of_trace(p_trace text) returns uuid[]
language sql stable
as $$
  with whole as (select w.workflow_run_id as id from workflow.workflow_run w where w.trace_id = p_trace)
  select coalesce(array_agg(distinct t.id), '{}') from (
    select r.run_id as id from fsm.run r where r.trace_id = p_trace
    union all select w.id from whole w
    union all select s.step_run_id from whole w join workflow.step_run s on s.workflow_run_id = w.id
    union all select k.task_run_id from whole w join workflow.task_run k on k.workflow_run_id = w.id
    union all select d.job_id from queue.job_dead_letter d where d.trace_id = p_trace
    union all select q.job_id from queue.job_queue q where q.trace_id = p_trace and q.seq > 0
    union all select y.dlq_replay_request_id from queue.dlq_replay_request y where y.trace_id = p_trace
    union all select i.issue_id from governance.system_issues i where i.trace_id = p_trace
    union all select e.entry_id from cutter_governance.decision_backlog_entry e where e.trace_id = p_trace
    union all select o.run_id from orchestrator.run o where o.trace_id = p_trace
    union all select b.permit_id from birth.birth_admission_permit b where b.trace_id = p_trace
    union all select c.candidate_id from governance.governance_candidate_state c where c.trace_id = p_trace
    union all select x.change_request_id from workflow.workflow_change_requests x where x.trace_id = p_trace
    union all select g.proposal_id from governance.proposal g where g.trace_id = p_trace) t
$$;
