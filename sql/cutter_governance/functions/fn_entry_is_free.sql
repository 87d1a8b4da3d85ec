-- promise: whether nobody holds the entry, or the run that drives it, at this moment. Waits for nobody and changes nothing. It decides
--          nothing either: a worker that has others to do asks before it begins on one.
-- callers: cutter_exec, cutter_verify
-- locks: the run, then the entry (update), each only where it is free, until the end of the transaction
create or replace function cutter_governance.fn_entry_is_free(p_entry_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform from orchestrator.run r where r.entry_id = p_entry_id for update skip locked;
  if not found and exists (select from orchestrator.run r where r.entry_id = p_entry_id) then
    return false;
  end if;
  perform from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id for update skip locked;
  return found;
end
$$;
