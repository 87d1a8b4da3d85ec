-- owner: chancery_guard
-- promise: true when the newest cycle of correction names the move that closed the work
create or replace function workflow.guard_prior_audit(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return exists (
    select from workflow.step_run_correction_cycle c
      join fsm.transition_log l on l.log_id = c.prior_audit_id and l.run_id = c.run_id and l.seq = v_work.seq
     where c.run_id = v_work.run_id and c.cycle_no = v_work.cycle_no and c.prior_state = v_work.state_code);
end
$$;
