-- promise: the digest of what a manifest makes the writer write, without ids and times: two rebuilds agree, on any machine.
create or replace function cutter_governance.writer_digest(p_envelope_id uuid, p_owner_ref text) returns bytea
language sql stable
as $$
  select sha256(convert_to('[' || string_agg(cutter_governance.unit_snapshot(
           b.proposed_canonical_address, encode(b.region_sha, 'hex'), b.unit_local_id, p_owner_ref,
           (select p.proposed_canonical_address from cutter_governance.manifest_unit_block p
             where p.envelope_id = b.envelope_id and p.unit_local_id = b.parent_local_id), e.publication_type,
           b.section_type, b.render_order, b.title, e.unit_kind, null, null), ',' order by b.render_order) || ']', 'UTF8'))
    from cutter_governance.manifest_envelope e
    join cutter_governance.manifest_unit_block b using (envelope_id)
   where e.envelope_id = p_envelope_id
$$;
