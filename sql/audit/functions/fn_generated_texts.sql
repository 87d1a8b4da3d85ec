-- promise: what functions and triggers that are made from rows a person may change must look like now: the text of each family's
--          trigger function, and the edges along which a job may move. A family whose table is gone has none.
-- callers: every login that looks at the ground it stands on. The release carries this function's own text.
create or replace function audit.fn_generated_texts() returns table (name text, text text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select format('birth.family_%s()', f.family_no), birth.family_source(f.collection_name) from birth.family f
  union all
  select 'queue.job_queue job_moves_along_edges', coalesce(array_agg(distinct t.from_state || '>' || t.to_state), '{}')::text
    from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
   where m.scope = 'job' and t.from_state is not null and not t.proposed
$$;
