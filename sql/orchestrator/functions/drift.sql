-- owner: chancery_guard
-- promise: what differs between the survey that the run's last gate pinned and the live database, by dimension; an empty array when
--          nothing does. At a sovereign gate the decision that was asked for may have come.
create or replace function orchestrator.drift(p_run_id uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_state text := (select r.state_code from orchestrator.run r where r.run_id = p_run_id);
  v_pinned jsonb := orchestrator.pins(p_run_id) -> 'survey';
  v_live jsonb := orchestrator.survey(p_run_id);
  v_awaited uuid := case v_state when 'awaiting_cut_authorization' then internal.derived_uuid(p_run_id, 'cut_decision')
                                 when 'awaiting_lifecycle_authorization' then internal.derived_uuid(p_run_id, 'lifecycle_decision') end;
begin
  if v_pinned is null then
    return '[]';
  end if;
  if exists (select from cutter_governance.review_decision d where d.review_decision_id = v_awaited) then
    v_pinned := v_pinned || jsonb_build_object('review_decisions', (v_pinned ->> 'review_decisions')::bigint + 1);
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object('dimension', d.dimension, 'name', d.name, 'pinned', d.pinned, 'live', d.live) order by d.dimension, d.name), '[]')
      from (select 'row_count' as dimension, null as name, v_pinned -> 'row_count' as pinned, v_live -> 'row_count' as live
            union all
            select 'review_decisions', null, v_pinned -> 'review_decisions', v_live -> 'review_decisions'
            union all
            -- What is enacted stays: the next version is the next run's.
            select 'source_version', null, v_pinned -> 'source_version', v_live -> 'source_version' where v_state <> 'lifecycle_enacted'
            union all
            select 'functions', f.key, v_pinned -> 'functions' -> f.key, f.value from jsonb_each(v_live -> 'functions') f) d
     where d.pinned is distinct from d.live);
end
$$;
