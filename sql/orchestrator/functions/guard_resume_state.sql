-- owner: chancery_guard
-- promise: the run goes back to the very state it was stopped in
create or replace function orchestrator.guard_resume_state(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p_context #>> '{evidence,resumes_to}' = (
    select l.from_state from fsm.transition_log l where l.run_id = (p_context #>> '{run,id}')::uuid order by l.seq desc limit 1)
$$;
