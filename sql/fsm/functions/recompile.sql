-- promise: the compiled columns follow their sources in the same statement, whoever changes them. Bound by fsm/triggers.sql.
create or replace function fsm.recompile() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform fsm.compile_transitions();
  return null;
end
$$;
