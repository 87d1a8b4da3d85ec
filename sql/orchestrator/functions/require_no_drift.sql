-- promise: the ground is as the run's last gate left it.
-- refuses with: RO003 with the differences
create or replace function orchestrator.require_no_drift(p_run orchestrator.run) returns void
language plpgsql
as $$
declare
  v_drift jsonb := orchestrator.drift(p_run.run_id);
begin
  if v_drift <> '[]' then
    perform internal.refuse(internal.problem('RO003', jsonb_build_object(
      'run_id', p_run.run_name, 'state', p_run.state_code, 'dimension', v_drift -> 0 -> 'dimension', 'differences', v_drift)));
  end if;
end
$$;
