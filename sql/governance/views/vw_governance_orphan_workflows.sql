create or replace view governance.vw_governance_orphan_workflows with (security_barrier) as
with orphan as (
  select r.workflow_run_id, r.workflow, r.started_by, r.last_transition_at, r.trace_id, r.seq, b.failed, b.awaiting, b.since
    from workflow.workflow_run r,
         lateral (
           select bool_or(s.state_code in ('failed', 'cannot_complete', 'cancelled')) as failed, bool_or(s.awaits_precondition) as awaiting,
                  max(s.last_transition_at) as since
             from workflow.step_run s where s.workflow_run_id = r.workflow_run_id) b
   where r.state_code not in ('completed', 'cancelled') and r.state_code = 'in_progress'
     -- To draw the critical path anew moves nothing.
     and not exists (select from workflow.agenda a where a.workflow_run_id = r.workflow_run_id and a.cause <> 'critical')
     and not exists (select from workflow.step_run s where s.workflow_run_id = r.workflow_run_id
                        and s.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue') and not s.skipped)
     and not exists (select from workflow.timer t where t.workflow_run_id = r.workflow_run_id)
     -- A failed step that is tried again has its job.
     and not exists (
       select from workflow.step_run s
         join queue.job_queue q on q.job_id = queue.job_id(s.executor_class_ref, s.step_run_id || '/' || s.work_no)
        where s.workflow_run_id = r.workflow_run_id and s.state_code = 'failed' and q.state in ('queued', 'leased', 'in_progress', 'retry_waiting')))
select 'orphan_workflow'::text as category, o.workflow_run_id::text as item_id,
       o.workflow || '/' || case when o.failed then 'a_step_failed' when o.awaiting then 'precondition_never_met' else 'nothing_left' end as cause,
       'critical'::text as severity, greatest(o.last_transition_at, o.since) as since,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.orphan_workflow.title' and m.locale = 'en'),
         '{workflow}', o.workflow), '{cause}', case when o.failed then 'a step failed' when o.awaiting then 'a precondition was never met' else 'nothing is left to do' end) as title_en,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.orphan_workflow.title' and m.locale = 'vi'),
         '{workflow}', o.workflow), '{cause}', case when o.failed then 'một bước thất bại' when o.awaiting then 'điều kiện chưa bao giờ đạt' else 'không còn việc nào' end) as title_vi,
       jsonb_build_object('workflow', o.workflow, 'workflow_run_id', o.workflow_run_id, 'started_by', o.started_by) as facts,
       o.trace_id, 'workflow_run'::text as run_kind, o.workflow_run_id as run_id, null::uuid as issue_id, 'log:' || o.workflow_run_id || '/' || o.seq as source_ref
  from orphan o
union all
select 'orphan_workflow', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'orphan_workflow';
comment on view governance.vw_governance_orphan_workflows is 'Runs that go on with no live step, timer, job or anything left for the loop.';
