-- promise: jobs are written by the doors and the engine alone: by their role, behind a login that may call them, whatever rights were
--          given by hand. Bound once a statement, with the refusal's code as argument, and without a clause: PostgreSQL would parse it
--          anew in every statement.
-- refuses with: RS015, RS016
create or replace function queue.only_by_the_doors() returns trigger
language plpgsql stable
as $$
begin
  if current_user = 'chancery_definer' and session_user = any ('{chancery_app,cutter_exec,cutter_verify,cutter_review}'::name[]) then
    return null;
  end if;
  perform internal.refuse(internal.problem(tg_argv[0], jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user)));
  return null;
end
$$;
