-- promise: every unit of the manifest is written, by one call of fn_iu_create each. Gives the digests of their lifecycle rows, in the
--          order of the manifest.
-- callers: cutter_governance.fn_cut, orchestrator.fn_cut_leg_a
-- refuses with: RC011 an address is taken, and what birth.reserve and fn_iu_create refuse
create or replace function cutter_governance.create_units(
  p_change_set_id uuid, p_envelope cutter_governance.manifest_envelope, p_owner_ref text, p_principal text, p_tool_revision text
) returns bytea[]
language plpgsql
as $$
declare
  -- Unpacked once: a slice of the stored value would unpack it again for every unit.
  v_body bytea := (select v.body || ''::bytea from iu.source_version v where v.source_version_id = p_envelope.source_version_id);
  v_provenance text := concat(
    '{"change_set_id":"', p_change_set_id, '","manifest_digest":"', encode(p_envelope.manifest_digest, 'hex'),
    '","region_sha":"', encode(p_envelope.region_sha, 'hex'), '","source_version_id":"', p_envelope.source_version_id, '","span":[');
  v_taken jsonb;
  v_digests bytea[];
begin
  v_taken := (
    select jsonb_build_object('address', u.canonical_address, 'unit_id', u.id, 'lifecycle_status', u.lifecycle_status)
      from cutter_governance.manifest_unit_block b
      join iu.information_unit u on u.canonical_address = b.proposed_canonical_address and u.deleted_at is null
     where b.envelope_id = p_envelope.envelope_id
     order by b.render_order limit 1);
  if v_taken is not null then
    perform internal.refuse(internal.problem('RC011', v_taken));
  end if;
  -- Units are born like anything else: one permit each, all reserved by one call.
  perform birth.reserve('iu.information_unit', array(
    select row(null, internal.derived_uuid(p_change_set_id, 'unit,' || b.unit_local_id)::text, b.proposed_canonical_address, null, null, null, null)::birth.permit_ask
      from cutter_governance.manifest_unit_block b where b.envelope_id = p_envelope.envelope_id), p_principal, 'executor_dot991', 'cutter', null, p_change_set_id, null);
  with block as (
    select b.unit_local_id, b.render_order, b.span_start, b.span_end, b.region_sha, b.proposed_canonical_address as address, b.section_type, b.title,
           internal.derived_uuid(p_change_set_id, 'unit,' || b.unit_local_id) as unit_id,
           internal.derived_uuid(p_change_set_id, 'version,' || b.unit_local_id) as version_id,
           case when b.parent_local_id is not null then internal.derived_uuid(p_change_set_id, 'unit,' || b.parent_local_id) end as parent_id
      from cutter_governance.manifest_unit_block b
     where b.envelope_id = p_envelope.envelope_id
     -- Containers come before what they contain.
     order by b.render_order),
  made as materialized (
    select block.*, iu.fn_iu_create(
             block.address, block.title,
             -- convert_from has the collation of its encoding's name, which would become the collation of every text in the call
             -- and keep its look-ups from the index.
             convert_from(substring(v_body from block.span_start + 1 for block.span_end - block.span_start), 'UTF8') collate "default",
             p_principal, p_envelope.unit_kind, block.section_type, p_owner_ref, p_envelope.publication_type, block.parent_id, block.render_order,
             concat(v_provenance, block.span_start, ',', block.span_end, '],"span_sha":"', encode(block.region_sha, 'hex'), '"}'),
             block.unit_id, block.version_id, p_change_set_id, p_tool_revision) as report
      from block)
  select array_agg(decode(m.report ->> 'lifecycle_digest', 'hex') order by m.render_order) into v_digests from made m;
  return v_digests;
end
$$;
