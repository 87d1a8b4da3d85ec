create or replace view audit.vw_audit_event_timeline with (security_barrier) as
-- Every move of every machine, and with it every event: an event is the shadow of its log row. Findings and dead jobs are runs like others.
select l.at, 'move'::text as source, (l.run_id::text || '/' || lpad(l.seq::text, 12, '0')) collate "C" as entry_key, r.trace_id, r.correlation_id,
       l.run_kind as entity_kind, l.run_id::text as entity_id, l.run_id, l.seq, l.from_state, l.to_state, l.event_type,
       case when l.event_type is not null then l.log_id end as event_id, l.principal, l.actor_class, l.signature is not null as signed, l.reason
  from fsm.transition_log l
  left join lateral (
    select t.trace_id, t.correlation_id from fsm.run t where l.run_kind = 'custom' and t.run_id = l.run_id
    union all select t.trace_id, t.correlation_id from workflow.workflow_run t where l.run_kind = 'workflow_run' and t.workflow_run_id = l.run_id
    union all select t.trace_id, t.correlation_id from workflow.step_run t where l.run_kind = 'step' and t.step_run_id = l.run_id
    union all select t.trace_id, t.correlation_id from workflow.task_run t where l.run_kind = 'task' and t.task_run_id = l.run_id
    union all select t.trace_id, t.correlation_id from queue.job_queue t where l.run_kind = 'job' and t.job_id = l.run_id
    union all select t.trace_id, t.correlation_id from queue.dlq_replay_request t where l.run_kind = 'dlq_replay' and t.dlq_replay_request_id = l.run_id
    union all select t.trace_id, t.correlation_id from governance.system_issues t where l.run_kind = 'finding' and t.issue_id = l.run_id
    union all select t.trace_id, t.correlation_id from cutter_governance.decision_backlog_entry t where l.run_kind = 'cut_request' and t.entry_id = l.run_id
    union all select t.trace_id, t.correlation_id from orchestrator.run t where l.run_kind = 'orchestrator_run' and t.run_id = l.run_id
    union all select t.trace_id, t.correlation_id from birth.birth_admission_permit t where l.run_kind = 'birth_permit' and t.permit_id = l.run_id
    union all select t.trace_id, t.correlation_id from governance.governance_candidate_state t where l.run_kind = 'governance_candidate' and t.candidate_id = l.run_id
    union all select t.trace_id, t.correlation_id from workflow.workflow_change_requests t where l.run_kind = 'workflow_change' and t.change_request_id = l.run_id
    union all select t.trace_id, t.correlation_id from governance.proposal t where l.run_kind = 'proposal' and t.proposal_id = l.run_id) r on true
union all
select a.at, 'refused', 'refused/' || lpad(a.audit_id::text, 20, '0'), null, null, 'event_type', a.event_type, null, null, null, null, a.event_type, null, a.login_role,
       null, false, a.code
  from event.event_validation_audit a
union all
select u.at, 'unit', 'unit/' || u.lifecycle_log_id, null, null, 'unit', u.unit_id::text, u.unit_id, u.seq, u.from_lifecycle, u.to_lifecycle, null, null, u.actor, null,
       false, coalesce(u.reason, u.change_kind)
  from iu.iu_lifecycle_log u
union all
select q.requested_at, 'approval', 'approval/' || q.approval_id, null, null, q.subject_kind, q.subject_ref,
       case when q.subject_ref ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then q.subject_ref::uuid end,
       null, null, 'asked', null, null, q.proposer, null, true, q.title
  from approval.approval_request q
union all
select v.voted_at, 'vote', 'vote/' || v.vote_id, null, null, q.subject_kind, q.subject_ref,
       case when q.subject_ref ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then q.subject_ref::uuid end,
       v.vote_seq, null, v.decision, null, null, v.voter, v.counted_as, true, v.rationale
  from approval.approval_request q join approval.approval_vote v on v.approval_id = q.approval_id
union all
select d.decided_at, 'decision', 'decision/' || d.decision_id, null, null, d.run_kind, d.run_id::text, d.run_id, null, null, d.decision_kind, null, null, d.principal,
       d.actor_class, false, null
  from workflow.step_decision d
union all
select s.at, 'heartbeat', 'heartbeat/' || s.worker_class || '/' || s.worker || '/' || coalesce(s.from_status, '') || '/' || coalesce(s.to_status, ''), null, null, 'worker',
       s.worker_class || '/' || s.worker, null, null, s.from_status, s.to_status, null, null, s.principal, null, false, null
  from queue.heartbeat_series s
union all
select i.at, 'identity', 'identity/' || lpad(i.identity_log_id::text, 20, '0'), null, null, 'principal', i.principal, null, null, null, i.action, null, null,
       coalesce(i.acted_by, i.login_role), null, false, null
  from identity.identity_log i
union all
select m.created_at, 'summary', 'summary/' || m.summary_id, m.trace_id, null, 'summary', m.summary_id::text, m.summary_id, null, null, m.state, null, null, m.put_by,
       m.summarizer_kind, false, m.text_en
  from governance.status_summary m;
comment on view audit.vw_audit_event_timeline is
  'Everything that happened in every room, with who did it. Asked by trace, by entity or by a window of time; never read as a tail.';
