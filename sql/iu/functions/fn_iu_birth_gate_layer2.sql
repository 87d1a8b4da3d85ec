-- promise: at COMMIT a live unit's anchor is a text of this very unit whose hash is that of its body, and its last lifecycle row
--          shows the unit and the text as they are. Whoever wrote them. A unit that is taken back may be taken back because it is
--          broken: then only its lifecycle row must show it.
-- refuses with: RI026
create or replace function iu.fn_iu_birth_gate_layer2() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_unit record;
  v_version record;
  v_log record;
  v_broken text;
begin
  select u.version_anchor_ref, u.content_anchor_ref, u.row_digest, u.lifecycle_status, u.deleted_at is null as is_live into v_unit
    from iu.information_unit u where u.id = new.id;
  if not found then
    return null;
  end if;
  select v.unit_id, v.row_digest, v.content_hash = encode(sha256(convert_to(v.body, 'UTF8')), 'hex') as hash_fits into v_version
    from iu.unit_version v where v.id = v_unit.version_anchor_ref;
  select l.unit_digest, l.version_digest, l.to_lifecycle into v_log from iu.iu_lifecycle_log l where l.unit_id = new.id order by l.seq desc limit 1;
  v_broken := case
    when v_unit.is_live and v_version.unit_id is distinct from new.id then 'version_anchor_ref'
    when v_unit.is_live and v_unit.content_anchor_ref is distinct from v_unit.version_anchor_ref::text then 'content_anchor_ref'
    when v_unit.is_live and not v_version.hash_fits then 'content_hash'
    when v_log.unit_digest is distinct from v_unit.row_digest or v_log.version_digest is distinct from v_version.row_digest
         or v_log.to_lifecycle is distinct from v_unit.lifecycle_status then 'iu_lifecycle_log'
  end;
  if v_broken is not null then
    perform internal.refuse(internal.problem('RI026', jsonb_build_object('unit_id', new.id, 'broken', v_broken)));
  end if;
  return null;
end
$$;
