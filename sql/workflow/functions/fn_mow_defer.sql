-- promise: a run whose turn failed is left alone for a while, longer each time, and a finding says why. Nothing else waits behind it.
-- callers: chancery_app (mow_orchestrator), the loop
create or replace function workflow.fn_mow_defer(p_workflow_run_id uuid, p_error text, p_principal text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform identity.require_actor(p_principal, 'mow_orchestrator');
  update workflow.agenda a
     set tries = a.tries + 1, not_before = internal.now() + least(power(2, least(a.tries, 12)), 3600) * interval '1 second'
   where a.workflow_run_id = p_workflow_run_id and a.not_before <= internal.now();
  perform governance.issue_open(
    'mow', 'warning', 'workflow_turn_failed', 'operation', 'A run of a workflow cannot go on', left(p_error, 2000), 'workflow_run', p_workflow_run_id::text,
    jsonb_build_object('workflow_run_id', p_workflow_run_id), p_principal);
end
$$;
