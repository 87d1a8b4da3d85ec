-- owner: chancery_guard
-- promise: the approved decision has no other change set
create or replace function cutter_governance.guard_cut_once(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select not exists (
    select from cutter_governance.cut_change_set c
     where c.decision_backlog_entry_id = (p_context #>> '{run,id}')::uuid and c.change_kind = 'apply'
       and c.change_set_id::text is distinct from p_context #>> '{evidence,change_set_id}')
$$;
