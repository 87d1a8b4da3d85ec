-- promise: a draft unit is taken back: its row and texts stay, its address is free. Gives the digest of the lifecycle row, or
--          null when there is no such draft any more, or somebody took its text or its history away: then the verdict stands with
--          what is left, and the finding names the unit.
-- callers: cutter_governance.compensate
-- locks: the unit (update)
create or replace function iu.retire_unit(p_unit_id uuid, p_actor text, p_change_set_id uuid, p_reason text, p_tool_revision text) returns bytea
language plpgsql
as $$
begin
  perform set_config('app.canonical_writer', 'fn_iu_retire', true);
  update iu.information_unit u
     set lifecycle_status = 'retired', deleted_at = internal.now(), updated_at = internal.now(), updated_by = p_actor
   where u.id = p_unit_id and u.lifecycle_status = 'draft' and u.deleted_at is null
     and exists (select from iu.unit_version v where v.id = u.version_anchor_ref)
     and exists (select from iu.iu_lifecycle_log l where l.unit_id = u.id);
  if not found then
    return null;
  end if;
  return iu.record_change(p_unit_id, 'compensated', 'draft', null, p_change_set_id, null, p_actor, p_reason, p_tool_revision);
end
$$;
