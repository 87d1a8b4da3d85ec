-- owner: chancery_guard
-- promise: the survey that the sovereign acknowledged, as a pin for the state that the run goes back to: a decision that the gate there
--          waits for is counted when the gate is passed, not before.
create or replace function orchestrator.settled_survey(p_run orchestrator.run, p_state text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select s.survey || jsonb_build_object('review_decisions', (s.survey ->> 'review_decisions')::bigint - (
           select count(*) from cutter_governance.review_decision d
            where d.review_decision_id = case p_state when 'awaiting_cut_authorization' then internal.derived_uuid(p_run.run_id, 'cut_decision')
                                                      when 'awaiting_lifecycle_authorization' then internal.derived_uuid(p_run.run_id, 'lifecycle_decision') end))
    from (select orchestrator.survey(p_run.run_id) as survey) s
$$;
