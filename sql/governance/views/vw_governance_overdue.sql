create or replace view governance.vw_governance_overdue with (security_barrier) as
with late as (
  select 'step'::text as run_kind, s.step_run_id as run_id, s.workflow_run_id, r.workflow, s.step_key as key, d.name_en, d.name_vi, s.state_code, s.facet,
         s.deadline, s.overdue_first_at, s.pic_id, s.block_reason, s.mandatory, s.trace_id, s.seq
    from workflow.workflow_run r
    join workflow.step_run s on s.workflow_run_id = r.workflow_run_id
    join workflow.workflow_step_def d on d.step_def_id = s.step_def_id
   where r.state_code not in ('completed', 'cancelled') and s.deadline <= (select internal.now())
     and workflow.is_past_deadline(s.state_code, s.deadline, (select internal.now()))
  union all
  select 'task', t.task_run_id, t.workflow_run_id, r.workflow, t.task_key, d.name_en, d.name_vi, t.state_code, t.facet,
         t.deadline, t.overdue_first_at, t.pic_id, t.block_reason, true, t.trace_id, t.seq
    from workflow.workflow_run r
    join workflow.task_run t on t.workflow_run_id = r.workflow_run_id
    join workflow.workflow_task_def d on d.task_def_id = t.task_def_id
   where r.state_code not in ('completed', 'cancelled') and t.deadline <= (select internal.now())
     and workflow.is_past_deadline(t.state_code, t.deadline, (select internal.now())))
select 'overdue_step'::text as category, l.run_kind || ':' || l.run_id as item_id, l.workflow || '/' || l.key || '/' || l.state_code as cause,
       case when l.deadline < coalesce((select internal.now() - make_interval(secs => (c.value #>> '{}')::double precision)
                                 from config.dot_config c where c.key = 'problems.critical_after_seconds.overdue_step'), (select internal.now()))
            then 'critical' else 'warning' end as severity,
       l.deadline as since,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.overdue_step.title' and m.locale = 'en'),
         '{name_en}', l.name_en), '{workflow}', l.workflow) as title_en,
       replace(replace((select m.text from config.message m where m.message_key = 'problem.overdue_step.title' and m.locale = 'vi'),
         '{name_vi}', l.name_vi), '{workflow}', l.workflow) as title_vi,
       jsonb_strip_nulls(jsonb_build_object('workflow', l.workflow, 'workflow_run_id', l.workflow_run_id, 'key', l.key, 'state', l.state_code, 'facet', l.facet,
         'deadline', l.deadline, 'overdue_first_at', l.overdue_first_at, 'pic', l.pic_id, 'block_reason', l.block_reason, 'mandatory', l.mandatory)) as facts,
       l.trace_id, l.run_kind, l.run_id, null::uuid as issue_id, 'log:' || l.run_id || '/' || l.seq as source_ref
  from late l
union all
select 'overdue_step', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'overdue_step';
comment on view governance.vw_governance_overdue is 'Steps and tasks past their deadline now, in whatever state their work stands still or goes on, in runs that still go on.';
