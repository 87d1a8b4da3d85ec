-- promise: the run is there and nobody else moves it until the transaction ends.
-- locks: the run (update)
-- refuses with: RO001, RS025
create or replace function orchestrator.require_run(p_run_id uuid) returns orchestrator.run
language plpgsql
as $$
declare
  v_run orchestrator.run;
begin
  perform fsm.require_fresh_reads();
  select r.* into v_run from orchestrator.run r where r.run_id = p_run_id for update;
  if not found then
    perform internal.refuse(internal.problem('RO001', jsonb_build_object('run_id', p_run_id)));
  end if;
  return v_run;
end
$$;
