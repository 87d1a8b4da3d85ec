-- promise: a guarded table changes through its door or not at all, whoever asks. Bound to tables by triggers.sql with
--          the refusal's code as argument; the trigger's WHEN clause lets the door itself through.
create or replace function internal.refuse_direct_write() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform internal.refuse(internal.problem(tg_argv[0], jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user)));
  return null;
end
$$;
