create or replace view fsm.v_run with (security_barrier) as
select r.run_id, r.state_machine_id, r.state_code, s.is_terminal, s.semantic_class, r.facet, r.seq, r.parent_run_id, r.data, r.started_by,
       r.trace_id, r.correlation_id, r.created_at, r.last_transition_at,
       coalesce((select jsonb_agg(jsonb_build_object('to', t.to_state, 'actor_class', t.actor_class, 'label', t.label,
                                   'trigger', t.trigger_kind || ':' || t.trigger_ref, 'guards', t.guard_ref, 'audit', t.audit_required,
                                   'transition_id', t.transition_id, 'proposed', t.proposed)
                                  order by t.label, t.to_state, t.actor_class)
                   from fsm.transition_def t
                  where t.state_machine_id = r.state_machine_id and t.from_state = r.state_code), '[]') as ways_on
  from fsm.run r join fsm.state_def s using (state_machine_id, state_code);
comment on view fsm.v_run is 'Runs of custom machines with the rows that lead on from where they are.';
