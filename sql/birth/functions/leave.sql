-- promise: it is known that the row with this code left its table, and in which transaction.
-- callers: the trigger functions of the families
create or replace function birth.leave(p_collection text, p_code text) returns void
language plpgsql
as $$
begin
  if p_code is not null then
    insert into birth.departure (collection_name, entity_code, left_by, left_at, xid)
    values (p_collection, birth.short_code(p_code), session_user, internal.now(), pg_current_xact_id());
  end if;
end
$$;
