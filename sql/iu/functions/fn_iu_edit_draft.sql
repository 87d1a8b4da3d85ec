-- promise: a proposed text for a draft unit is kept, bound to the version it was written against.
-- callers: cutter_exec
-- refuses with: RI001–RI004, RI022 no text, RI027 the unit is enacted, RI028 no such unit, RI029 the id is missing or another draft's
create or replace function iu.fn_iu_edit_draft(p_draft_id uuid, p_canonical_address text, p_title text, p_body text, p_actor text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_unit record;
  v_draft iu.unit_edit_draft;
begin
  perform iu.require_writer(p_actor);
  if coalesce(p_body, '') = '' or internal.is_blank(p_title) then
    perform internal.refuse(internal.problem('RI022', jsonb_build_object('reason', 'empty', 'address', p_canonical_address)));
  end if;
  if p_draft_id is null then
    perform internal.refuse(internal.problem('RI029', '{"draft_id": null, "reason": "unknown"}'));
  end if;
  v_unit := iu.draft_unit(p_canonical_address);
  insert into iu.unit_edit_draft (draft_id, unit_id, base_version_id, title, body, created_by, created_at)
  values (p_draft_id, v_unit.id, v_unit.version_anchor_ref, p_title, p_body, p_actor, internal.now())
  on conflict (draft_id) do nothing;
  select d.* into v_draft from iu.unit_edit_draft d where d.draft_id = p_draft_id;
  if v_draft.unit_id <> v_unit.id or v_draft.body <> p_body or v_draft.title <> p_title then
    perform internal.refuse(internal.problem('RI029', jsonb_build_object('draft_id', p_draft_id, 'reason', 'another_draft')));
  end if;
  return jsonb_build_object('draft_id', p_draft_id, 'unit_id', v_unit.id, 'base_version_id', v_draft.base_version_id);
end
$$;
