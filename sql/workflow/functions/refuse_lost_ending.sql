-- promise: the first ending of a step or task and how late it was are never taken back or written over.
-- Bound by triggers.sql to updates that would.
create or replace function workflow.refuse_lost_ending() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform internal.refuse(internal.problem('RS015', jsonb_build_object('table', tg_table_schema || '.' || tg_table_name, 'operation', 'update', 'login', session_user)));
  return null;
end
$$;
