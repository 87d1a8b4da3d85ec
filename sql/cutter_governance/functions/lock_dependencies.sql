-- promise: the requests that this one waits for stay as they are until the transaction ends.
-- locks: the blockers (share), in the order of their ids
create or replace function cutter_governance.lock_dependencies(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
begin
  if p_run_kind = 'cut_request' then
    perform from cutter_governance.decision_backlog_entry e
      where e.entry_id in (select d.to_entry_id from cutter_governance.decision_backlog_dependency d where d.from_entry_id = p_run_id)
      order by e.entry_id for share;
  end if;
end
$$;
