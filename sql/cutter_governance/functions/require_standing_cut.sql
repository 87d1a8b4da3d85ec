-- promise: a cut that was made stands still: nothing took it back. (Seed A §5: a repetition is answered with a change set that is not rolled back.)
-- callers: cutter_governance.fn_cut
-- refuses with: RC021
create or replace function cutter_governance.require_standing_cut(p_entry_id uuid, p_change_set_id uuid) returns void
language plpgsql
as $$
declare
  v_rollback record;
begin
  select c.change_set_id, c.rollback_reason, c.emitted_by into v_rollback
    from cutter_governance.cut_change_set c where c.rollback_of_change_set_id = p_change_set_id;
  if found then
    perform internal.refuse(internal.problem('RC021', jsonb_build_object(
      'entry_id', p_entry_id, 'status', (select e.status from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id),
      'change_set_id', p_change_set_id, 'rollback_change_set_id', v_rollback.change_set_id, 'reason', v_rollback.rollback_reason,
      'taken_back_by', v_rollback.emitted_by)));
  end if;
end
$$;
