create or replace view governance.vw_governance_dlq_count with (security_barrier) as
select 'dlq'::text as category, d.job_id::text as item_id, d.executor_class || '/' || d.job_kind || '/' || d.classification as cause,
       -- Once its step or task is over by another way, it hurts nobody any more.
       case when exists (select from workflow.step_run s where s.step_run_id = w.run_id and s.state_code in ('completed', 'cancelled'))
              or exists (select from workflow.task_run t where t.task_run_id = w.run_id and t.state_code in ('completed', 'cancelled'))
            then 'info' else 'critical' end as severity, d.died_at as since,
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.dlq.title' and m.locale = 'en'),
         '{kind}', d.job_kind), '{class}', d.executor_class), '{reason}', left(d.reason, 200)) as title_en,
       replace(replace(replace((select m.text from config.message m where m.message_key = 'problem.dlq.title' and m.locale = 'vi'),
         '{kind}', d.job_kind), '{class}', d.executor_class), '{reason}', left(d.reason, 200)) as title_vi,
       jsonb_build_object('executor_class', d.executor_class, 'job_kind', d.job_kind, 'classification', d.classification, 'attempts', d.attempts,
                          'max_attempts', d.max_attempts, 'reason', left(d.reason, 500), 'target_ref', d.target_ref) as facts,
       d.trace_id, 'job'::text as run_kind, d.job_id as run_id, null::uuid as issue_id, 'job:' || d.job_id as source_ref
  from queue.job_dead_letter d
  join queue.job_queue q on q.job_id = d.job_id and q.state = 'dead_letter'
  left join lateral (
    select case when d.payload::jsonb ->> 'run_id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (d.payload::jsonb ->> 'run_id')::uuid end as run_id
     where d.job_kind in ('workflow.step', 'workflow.task')) w on true
 -- Without the setting everything counts.
 where d.died_at >= coalesce((select internal.now() - make_interval(secs => (c.value #>> '{}')::double precision)
     from config.dot_config c where c.key = 'problems.window_seconds.dlq'), '-infinity')
union all
select 'dlq', f.item_id, f.cause, f.severity, f.since, f.title_en, f.title_vi, f.facts, f.trace_id, f.run_kind, f.run_id, f.issue_id, f.source_ref
  from governance.v_open_finding f where f.issue_class = 'dlq';
comment on view governance.vw_governance_dlq_count is 'Dead letters that nobody settled, and what else could not be delivered.';
