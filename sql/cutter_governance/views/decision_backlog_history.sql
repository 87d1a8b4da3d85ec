create or replace view cutter_governance.decision_backlog_history with (security_barrier) as
select l.log_id as history_id, l.run_id as entry_id, l.from_state as entry_version_before, l.to_state as entry_version_after,
       case t.label
         when 'mark' then 'mark' when 'escalate' then 'mark' when 'promote' then 'sweep_promote' when 'repromote' then 'sweep_promote'
         when 'approve' then 'review:approve' when 'defer' then 'review:defer' when 'redefer' then 'review:defer' when 'reject' then 'review:reject'
         when 'verify_pass' then 'verify:pass' when 'verify_fail' then 'verify:fail' else t.label
       end as change_kind,
       jsonb_build_object('from', l.from_state, 'to', l.to_state, 'evidence', l.evidence::jsonb) as change_diff,
       l.principal as changed_by, l.at as changed_at, l.reason as rationale
  from fsm.transition_log l left join fsm.transition_def t using (transition_id)
 where l.run_kind = 'cut_request';
comment on view cutter_governance.decision_backlog_history is 'What happened to each request, from the one log, with the columns that readers of the backlog know.';
