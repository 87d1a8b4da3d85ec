-- promise: until the transaction ends, whoever else takes the turn of this name waits. The same transaction may take it again. What has no name has no
--          turn either: its door refuses it.
--          A row lock, and no advisory lock: those belong to nobody, so any login could take the key of one and stop all work behind it.
-- callers: doors and inner functions that let one at a time do something that no row stands for yet
-- locks: the name's row (update)
create or replace function internal.take_turn(p_name text) returns void
language plpgsql strict security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- What this transaction holds already costs one look: a document of twenty thousand units takes its turn for each of them. The row's
  -- own version says who wrote it: a dump does not carry that, and a rollback takes it back.
  if exists (select from queue.turn t where t.name = p_name and t.xmin = pg_current_xact_id()::xid) then
    return;
  end if;
  insert into queue.turn as t (name) values (p_name) on conflict (name) do update set name = excluded.name;
end
$$;
