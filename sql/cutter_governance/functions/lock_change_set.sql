-- promise: the change sets of the entry stay as they are until the transaction ends: they are written under the entry's lock only.
-- locks: the entry (update)
create or replace function cutter_governance.lock_change_set(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
begin
  if p_run_kind = 'cut_request' then
    perform from cutter_governance.decision_backlog_entry e where e.entry_id = p_run_id for update;
  end if;
end
$$;
