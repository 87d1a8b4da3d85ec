-- promise: the history of units is written by their doors alone. A test of its own instead of a clause on the trigger, which
--          PostgreSQL would parse again for every unit.
-- refuses with: RI025
create or replace function iu.only_by_the_doors() returns trigger
language plpgsql
as $$
begin
  if current_user = 'chancery_definer' and session_user in ('cutter_exec', 'cutter_verify', 'cutter_review', 'chancery_app') then
    return new;
  end if;
  perform internal.refuse(internal.problem('RI025', jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user, 'writer', null)));
  return null;
end
$$;
