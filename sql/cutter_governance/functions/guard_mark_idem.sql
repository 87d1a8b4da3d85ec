-- owner: chancery_guard
-- promise: no other request was marked under this idempotency key
create or replace function cutter_governance.guard_mark_idem(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select not exists (
    select from cutter_governance.decision_backlog_entry e
     where e.idempotency_key = p_context #>> '{run,data,idempotency_key}' and e.entry_id <> (p_context #>> '{run,id}')::uuid)
$$;
