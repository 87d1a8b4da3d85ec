-- promise: permits are written by our doors and consumed by a gate alone; not by hand, whoever asks. A function and no clause on the
--          trigger: PostgreSQL would parse the clause anew for every row that is born.
-- refuses with: RS015
create or replace function birth.only_by_the_gate() returns trigger
language plpgsql stable
as $$
begin
  if current_user = 'chancery_definer' and (new.status <> 'CONSUMED' or pg_trigger_depth() > 1)
     -- What is over stays as it is, and names a birth only if there was one.
     and (tg_op = 'INSERT' or old.status in ('RESERVED', 'CONSUMED')) and (new.status = 'FINALIZED') = (new.finalized_birth_id is not null) then
    -- Only where it changes: a row that is written as it came need not be put together again.
    if new.live <> (new.status in ('RESERVED', 'CONSUMED', 'FINALIZED')) then
      new.live := not new.live;
    end if;
    return new;
  end if;
  perform internal.refuse(internal.problem('RS015', jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user)));
  return null;
end
$$;
