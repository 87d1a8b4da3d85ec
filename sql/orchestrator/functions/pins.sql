-- owner: chancery_guard
-- promise: what a run pinned at its gates; a later pin of the same name holds. They stand in the evidence of its moves, so they cannot be changed.
create or replace function orchestrator.pins(p_run_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(newest.key, newest.value), '{}')
    from (select distinct on (e.key) e.key, e.value
            from fsm.transition_log l, jsonb_each(l.evidence::jsonb -> 'pins') e
           where l.run_id = p_run_id
           order by e.key, l.seq desc) newest
$$;
