-- promise: a request that a run drives is moved by that run's phases and nothing else: its review is the sovereign's authorization, its cut
--          and its enactment are the run's, and it is given up by voiding the run.
-- callers: the doors of cutter_governance
-- refuses with: RO010
create or replace function orchestrator.require_free(p_entry_id uuid, p_phase text, p_decision_id uuid) returns void
language plpgsql
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
    return;
  end if;
  perform internal.refuse(internal.problem('RO010', jsonb_build_object(
    'entry_id', p_entry_id, 'phase', p_phase, 'run_id', v_run.run_name, 'state', v_run.state_code)));
end
$$;
