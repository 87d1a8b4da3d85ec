-- owner: chancery_guard
-- promise: a sovereign acknowledged exactly the drift that is there now
create or replace function orchestrator.guard_drift_ack(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select orchestrator.authorization_problems((p_context #>> '{run,id}')::uuid, 'SG_drift_ack',
           internal.uuid_or_null(p_context #>> '{evidence,approval_id}'), p_context #>> '{evidence,approval_kb_id}') = '[]'
$$;
