-- promise: so many names at most that nobody is alone at, and nobody waits for, have no row any more. One that somebody holds stays: its row is
--          locked, and what is locked is passed over. Who comes for a name while its row goes waits for this transaction, finds none and makes it anew
--          (internal.take_turn inserts).
-- callers: event.fn_retention_apply
-- locks: the rows that go
create or replace function internal.sweep_turns() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_swept integer;
begin
  delete from queue.turn t
   where t.name in (
     -- A turn of this very transaction is held as well, and its own lock would not stop it.
     select f.name from queue.turn f where f.xmin is distinct from pg_current_xact_id_if_assigned()::xid limit 10000 for update skip locked);
  get diagnostics v_swept = row_count;
  return v_swept;
end
$$;
