-- promise: the lifecycle log says what a unit and its anchor look like now and why; gives the new row's digest.
--          Called after the unit was changed, in the same transaction, by the door that changed it.
create or replace function iu.record_change(
  p_unit_id uuid, p_change_kind text, p_from_lifecycle text, p_review_decision_id uuid, p_change_set_id uuid, p_edit_draft_id uuid,
  p_actor text, p_reason text, p_tool_revision text
) returns bytea
language plpgsql
as $$
declare
  v_digest bytea;
begin
  insert into iu.iu_lifecycle_log (
    lifecycle_log_id, unit_id, seq, change_kind, from_lifecycle, to_lifecycle, unit_version_id, unit_digest, version_digest,
    review_decision_id, change_set_id, edit_draft_id, actor, reason, tool_revision, at, prev_digest)
  select internal.uuid_v7(), u.id, l.seq + 1, p_change_kind, p_from_lifecycle, u.lifecycle_status, v.id, u.row_digest, v.row_digest,
         p_review_decision_id, p_change_set_id, p_edit_draft_id, p_actor, p_reason, p_tool_revision, u.updated_at, l.row_digest
    from iu.information_unit u
    join iu.unit_version v on v.id = u.version_anchor_ref
    join iu.iu_lifecycle_log l on l.unit_id = u.id
   where u.id = p_unit_id
   order by l.seq desc limit 1
  returning row_digest into strict v_digest;
  return v_digest;
end
$$;
