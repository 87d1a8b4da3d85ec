-- owner: chancery_guard
-- promise: true when the postcondition holds of the run with the new output
create or replace function workflow.guard_postcondition(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
  v_def workflow.work_def := workflow.def_of(v_work.run_kind, v_work.def_id);
begin
  return workflow.holds(v_def.postcondition, workflow.context(v_work.workflow_run_id, v_def.reads_outputs, p_context -> 'actor') || jsonb_build_object(
    'output', (select o.document::jsonb from workflow.step_run_snapshot o where o.snapshot_id = v_work.output_snapshot_id)));
end
$$;
