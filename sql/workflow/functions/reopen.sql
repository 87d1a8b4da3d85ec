-- promise: how the work was closed stands on a new cycle of correction, with the output it had; nothing of the first ending is touched.
create or replace function workflow.reopen(p_work workflow.work, p_evidence jsonb, p_principal text) returns workflow.work
language plpgsql
as $$
declare
  v_now constant timestamptz := internal.now();
  v_log record;
begin
  select l.log_id, l.to_state, l.principal, l.at, l.key_id into v_log
    from fsm.transition_log l where l.run_id = p_work.run_id order by l.seq desc limit 1;
  p_work.cycle_no := p_work.cycle_no + 1;
  p_work.retry_count := 0;
  -- The correction has as long as the work had; how late the first ending was stays on record.
  p_work.deadline := v_now + (select d.deadline from workflow.def_of(p_work.run_kind, p_work.def_id) d);
  p_work.failure_classification := null;
  p_work.failure_class := null;
  insert into workflow.step_run_correction_cycle (
    run_id, cycle_no, run_kind, prior_state, prior_audit_id, prior_actor, prior_at, prior_key_id, original_output_snapshot_id, correction_reason, approval_id,
    reopened_by, reopened_at)
  values (
    p_work.run_id, p_work.cycle_no, p_work.run_kind, v_log.to_state, v_log.log_id, v_log.principal, v_log.at, v_log.key_id,
    case when v_log.to_state = 'completed' then p_work.output_snapshot_id end, coalesce(p_evidence ->> 'correction_reason', ''),
    (p_evidence ->> 'approval_id')::uuid, p_principal, v_now);
  p_work.event_facts := jsonb_strip_nulls(jsonb_build_object(
    'prior_audit_id', v_log.log_id, 'original_output_snapshot_id', case when v_log.to_state = 'completed' then p_work.output_snapshot_id end,
    'correction_reason', p_evidence -> 'correction_reason', 'approval_id', p_evidence -> 'approval_id'));
  return p_work;
end
$$;
