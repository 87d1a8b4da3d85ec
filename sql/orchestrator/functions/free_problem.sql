-- promise: what keeps a request from being moved by hand because a run drives it, as problems; null when nothing does.
-- callers: orchestrator.require_free, cutter_governance.fn_entry_actions
create or replace function orchestrator.free_problem(p_entry_id uuid, p_phase text, p_decision_id uuid) returns jsonb
language plpgsql stable
as $$
declare
  v_run orchestrator.run;
begin
  select r.* into v_run from orchestrator.run r where r.entry_id = p_entry_id and r.state_code <> 'voided_sovereign';
  if not found
     or p_phase = 'review' and v_run.state_code = 'awaiting_cut_authorization' and p_decision_id = internal.derived_uuid(v_run.run_id, 'cut_decision')
     or p_phase = 'lifecycle_review' and v_run.state_code = 'awaiting_lifecycle_authorization'
        and p_decision_id = internal.derived_uuid(v_run.run_id, 'lifecycle_decision')
     or p_phase = 'verify' and v_run.state_code in ('write_verified', 'awaiting_lifecycle_authorization', 'lifecycle_enacted', 'closeout_reported') then
    return null;
  end if;
  return internal.problem('RO010', jsonb_build_object(
    'entry_id', p_entry_id, 'phase', p_phase, 'run_id', v_run.run_name, 'state', v_run.state_code));
end
$$;
