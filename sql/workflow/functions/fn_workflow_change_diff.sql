-- promise: what a change request changes, by meaning: steps and relations added, removed and changed, each changed one field by field, and
--          how many runs stay on the version it was written against.
-- callers: chancery_app, auditor_ro
-- refuses with: RW001
create or replace function workflow.fn_workflow_change_diff(p_change_request_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select workflow.change_diff(p_change_request_id, null) $$;
