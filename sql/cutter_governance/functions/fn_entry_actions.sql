-- promise: what can be done to a request from where it is, and whether the reader may: judged by the functions that judge the phases themselves.
--          Changes nothing.
-- callers: chancery_app, for pages and programs that show what can be done
create or replace function cutter_governance.fn_entry_actions(p_entry_id uuid, p_reader text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(
           case when d.problems is null then a.action
                else a.action || jsonb_build_object('allowed', false, 'problems', d.problems || (a.action -> 'problems')) end order by a.n), '[]')
    from jsonb_array_elements(fsm.fn_actions('cut_request', p_entry_id, p_reader)) with ordinality a (action, n),
         lateral (select case when a.action ->> 'name' in ('review', 'cut', 'verify', 'abandon')
                              then orchestrator.free_problem(p_entry_id, a.action ->> 'name', null) end as problems) d
$$;
