-- promise: the draft's text is the unit's next version and its anchor; a draft that was applied is answered with what it made.
-- callers: cutter_exec
-- locks: the unit (update)
-- refuses with: RI001–RI004, RI027 the unit is enacted, RI028 no such unit, RI029 the draft is unknown or its base is no longer
--               the anchor
create or replace function iu.fn_iu_apply_edit_draft(p_draft_id uuid, p_actor text, p_review_note text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_draft iu.unit_edit_draft;
  v_unit iu.information_unit;
  v_base iu.unit_version;
  v_applied record;
  v_version_id uuid := internal.uuid_v7();
  v_now timestamptz;
begin
  perform iu.require_writer(p_actor);
  select d.* into v_draft from iu.unit_edit_draft d where d.draft_id = p_draft_id;
  if not found then
    perform internal.refuse(internal.problem('RI029', jsonb_build_object('draft_id', p_draft_id, 'reason', 'unknown')));
  end if;
  perform from iu.information_unit u where u.id = v_draft.unit_id for update;
  select l.unit_version_id, l.unit_id into v_applied from iu.iu_lifecycle_log l where l.edit_draft_id = p_draft_id;
  if found then
    return jsonb_build_object('status', 'applied', 'unit_id', v_applied.unit_id, 'version_id', v_applied.unit_version_id, 'replayed', true);
  end if;
  v_unit := iu.draft_unit((select u.canonical_address from iu.information_unit u where u.id = v_draft.unit_id));
  if v_unit.version_anchor_ref <> v_draft.base_version_id then
    perform internal.refuse(internal.problem('RI029', jsonb_build_object(
      'draft_id', p_draft_id, 'reason', 'base_moved', 'base_version_id', v_draft.base_version_id, 'anchor', v_unit.version_anchor_ref)));
  end if;
  select v.* into strict v_base from iu.unit_version v where v.id = v_draft.base_version_id;
  v_now := internal.now();
  perform set_config('app.canonical_writer', 'fn_iu_apply_edit_draft', true);
  insert into iu.unit_version (id, unit_id, version_seq, title, body, content_hash, lifecycle_status, content_profile, created_at, created_by)
  values (v_version_id, v_unit.id, v_base.version_seq + 1, v_draft.title, v_draft.body, iu.fn_content_hash(v_draft.body), v_base.lifecycle_status,
          internal.canonical_json(v_base.content_profile::jsonb || jsonb_build_object('edit_draft_id', p_draft_id)), v_now, p_actor);
  update iu.information_unit u
     set version_anchor_ref = v_version_id, content_anchor_ref = v_version_id::text, updated_at = v_now, updated_by = p_actor,
         identity_profile = internal.canonical_json(u.identity_profile::jsonb || jsonb_build_object('title', v_draft.title))
   where u.id = v_unit.id;
  perform iu.record_change(v_unit.id, 'edited', v_unit.lifecycle_status, null, null, p_draft_id, p_actor, p_review_note, null);
  return jsonb_build_object('status', 'applied', 'unit_id', v_unit.id, 'version_id', v_version_id, 'replayed', false);
end
$$;
