-- promise: at COMMIT the colour of a run stands still exactly when the run is on hold.
create or replace function workflow.assert_freeze() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run record;
begin
  select r.state_code, r.frozen_at into v_run from workflow.workflow_run r where r.workflow_run_id = new.workflow_run_id;
  if (v_run.frozen_at is not null) <> (v_run.state_code = 'paused') then
    perform internal.refuse(internal.problem('RS015', jsonb_build_object('table', 'workflow.workflow_run', 'operation', 'update', 'login', session_user)));
  end if;
  return null;
end
$$;
