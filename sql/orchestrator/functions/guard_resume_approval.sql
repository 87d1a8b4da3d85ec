-- owner: chancery_guard
-- promise: a sovereign approved that exactly this stopped run goes on
create or replace function orchestrator.guard_resume_approval(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select orchestrator.authorization_problems((p_context #>> '{run,id}')::uuid, 'SG_resume_stopped',
           internal.uuid_or_null(p_context #>> '{evidence,approval_id}'), p_context #>> '{evidence,approval_kb_id}') = '[]'
$$;
