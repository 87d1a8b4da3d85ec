-- owner: chancery_guard
-- promise: every request this one waits for is verified
create or replace function cutter_governance.guard_cut_deps(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select not exists (
    select from cutter_governance.decision_backlog_dependency d
      join cutter_governance.decision_backlog_entry e on e.entry_id = d.to_entry_id
     where d.from_entry_id = (p_context #>> '{run,id}')::uuid and d.dependency_kind = 'blocks' and e.status <> 'verified_complete')
$$;
