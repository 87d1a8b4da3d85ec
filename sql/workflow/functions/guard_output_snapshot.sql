-- owner: chancery_guard
-- promise: true when the newest cycle of correction names the output that the work had
create or replace function workflow.guard_output_snapshot(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return exists (
    select from workflow.step_run_correction_cycle c join workflow.step_run_snapshot o on o.snapshot_id = c.original_output_snapshot_id and o.snapshot_kind = 'output'
     where c.run_id = v_work.run_id and c.cycle_no = v_work.cycle_no);
end
$$;
