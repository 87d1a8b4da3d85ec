-- promise: what a change request changes, by meaning, without the steps that the reader may not see.
-- callers: chancery_app
-- refuses with: RW001
create or replace function workflow.fn_change_diff_seen(p_change_request_id uuid, p_reader text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select workflow.change_diff(p_change_request_id, coalesce(p_reader, '')) $$;
