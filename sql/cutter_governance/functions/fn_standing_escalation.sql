-- promise: the escalation that an earlier failed verification of the entry opened and that is not over; null when there is none.
-- callers: cutter_verify, cutter_governance.verify
create or replace function cutter_governance.fn_standing_escalation(p_entry_id uuid) returns uuid
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select e.entry_id
    from cutter_governance.decision_backlog_entry e
    join fsm.state_def s on s.state_machine_id = e.state_machine_id and s.state_code = e.status
   where e.escalation_of = p_entry_id and not s.is_terminal and e.payload::jsonb ? 'verify_result_id'
   order by e.emitted_at, e.entry_id limit 1
$$;
