-- promise: whatever the guards of a move read cannot change until the transaction ends; gives the run as it is now.
-- locks: parent (share) → run (update) → children in the order of their ids (share) → what the rooms' guards declare.
--        Ancestors first, everywhere: that is the written order (docs/states/locking.md).
create or replace function fsm.lock_reads(p_run_kind text, p_run_id uuid, p_parent_run_id uuid, p_reads text[]) returns fsm.run_row
language plpgsql
as $$
begin
  perform fsm.require_fresh_reads();
  if 'parent' = any (p_reads) and p_parent_run_id is not null then
    perform from fsm.run r where r.run_id = p_parent_run_id for share;
  end if;
  perform fsm.run_lock(p_run_kind, p_run_id);
  if 'children' = any (p_reads) then
    perform from fsm.run r where r.parent_run_id = p_run_id order by r.run_id for share;
  end if;
  perform fsm.lock_room_reads(p_run_kind, p_run_id, p_reads);
  return fsm.run_peek(p_run_kind, p_run_id);
end
$$;
