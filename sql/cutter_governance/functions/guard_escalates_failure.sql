-- owner: chancery_guard
-- promise: an escalation names the entry whose failure it follows, which is being verified or failed
create or replace function cutter_governance.guard_escalates_failure(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p_context #>> '{run,data,signal_source}' = 'verify' and exists (
    select from cutter_governance.decision_backlog_entry e
     where e.entry_id = internal.uuid_or_null(p_context #>> '{run,data,escalation_of}')
       and e.status in ('cut_applied', 'verified_complete', 'verify_failed_escalated'))
$$;
