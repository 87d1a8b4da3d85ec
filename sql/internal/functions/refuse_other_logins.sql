-- promise: only the logins that moves come through write here; they have no right on the table and come through a door or not
--          at all. Everyone else is refused outright, also an operator or a superuser who took the engine's role. Bound to tables
--          by triggers.sql, once a statement, with the refusal's code as argument.
-- Why a function and no WHEN clause: PostgreSQL parses each clause anew in every statement (17 µs a move at 32 clients). STABLE,
-- and with the writer's own rights, for the same reason: a snapshot and a change of the search path that every move would pay for.
create or replace function internal.refuse_other_logins() returns trigger
language plpgsql stable
as $$
begin
  if session_user = any ('{chancery_app,cutter_exec,cutter_verify,cutter_review}'::name[]) then
    return null;
  end if;
  -- A row of somebody's own table was born, under whatever login that is: its permit moves with it.
  if current_user = 'chancery_definer' and birth.is_settling() then
    return null;
  end if;
  perform internal.refuse(internal.problem(tg_argv[0], jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user)));
  return null;
end
$$;
