-- promise: a birth is written inside a trigger of its family's table, and says how it was admitted; or it is not written at all. A
--          function, and no clause or check: PostgreSQL would parse those anew for every row that is born.
-- refuses with: RS016
create or replace function birth.only_by_a_birth() returns trigger
language plpgsql stable
as $$
begin
  if current_user = 'chancery_definer' and pg_trigger_depth() > 1 and (new.admission = 'permit') = (new.permit_id is not null)
     and new.admission in ('permit', 'missing', 'break_glass') and new.governance_role in ('governed', 'observed', 'excluded') then
    return new;
  end if;
  perform internal.refuse(internal.problem('RS016', jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user)));
  return null;
end
$$;
