-- promise: a request that a run drives is moved by that run's phases and nothing else: its review is the sovereign's authorization, its cut
--          and its enactment are the run's, and it is given up by voiding the run.
-- callers: the doors of cutter_governance
-- refuses with: RO010
create or replace function orchestrator.require_free(p_entry_id uuid, p_phase text, p_decision_id uuid) returns void
language plpgsql
as $$
declare
  v_problems jsonb := orchestrator.free_problem(p_entry_id, p_phase, p_decision_id);
begin
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
end
$$;
