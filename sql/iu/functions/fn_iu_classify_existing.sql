-- promise: how things stand at an address: not_found, exists_complete, or what is wrong with the unit that is there.
-- callers: chancery_app, cutter_exec, cutter_verify, and the doors of this room
create or replace function iu.fn_iu_classify_existing(p_canonical_address text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_unit record;
  v_anchor record;
  v_versions record;
begin
  select u.id, u.version_anchor_ref, u.content_anchor_ref, u.lifecycle_status into v_unit
    from iu.information_unit u where u.canonical_address = p_canonical_address and u.deleted_at is null;
  if not found then
    return '{"status": "not_found"}';
  end if;
  select count(*) as n, count(distinct v.version_seq) as distinct_n, max(v.version_seq) as newest into v_versions
    from iu.unit_version v where v.unit_id = v_unit.id;
  select v.unit_id, v.content_hash into v_anchor from iu.unit_version v where v.id = v_unit.version_anchor_ref;
  return jsonb_build_object(
    'unit_id', v_unit.id, 'version_id', v_unit.version_anchor_ref, 'content_hash', v_anchor.content_hash,
    'lifecycle_status', v_unit.lifecycle_status,
    'status', case
      when v_versions.n = 0 then 'exists_missing_version'
      when v_anchor.unit_id is distinct from v_unit.id or v_unit.content_anchor_ref is distinct from v_unit.version_anchor_ref::text
        then 'exists_anchor_invalid'
      when v_versions.n <> v_versions.distinct_n then 'exists_duplicate_version'
      when v_unit.lifecycle_status not in ('draft', 'enacted') then 'exists_unknown_state'
      else 'exists_complete' end);
end
$$;
