-- promise: the entry, locked until the transaction ends: the phases lock it before they look at anything else.
-- locks: the entry (update)
-- refuses with: RC001
create or replace function cutter_governance.require_entry(p_entry_id uuid) returns cutter_governance.decision_backlog_entry
language plpgsql
as $$
declare
  v_entry cutter_governance.decision_backlog_entry;
begin
  perform fsm.require_fresh_reads();
  perform from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id for update;
  select e.* into v_entry from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id;
  if not found then
    perform internal.refuse(internal.problem('RC001', jsonb_build_object('entry_id', p_entry_id)));
  end if;
  return v_entry;
end
$$;
