create or replace view workflow.step_run_state_history with (security_barrier) as
select l.run_id as step_run_id, l.run_kind, l.seq, l.from_state, l.to_state, l.facet as waiting_facet, l.principal, l.actor_class, l.trigger_kind, l.trigger_ref, l.reason,
       l.event_type, l.at, l.log_id
  from fsm.transition_log l where l.run_kind in ('step', 'task');
comment on view workflow.step_run_state_history is 'Every visit of every state of every step and task: the log, with the seed''s columns.';
