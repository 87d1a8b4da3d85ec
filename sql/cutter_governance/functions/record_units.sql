-- promise: every unit that a change set made has its row in the ledger of effects, as it stands. Gives the digests of those rows.
-- callers: cutter_governance.record_cut
create or replace function cutter_governance.record_units(p_change_set_id uuid, p_envelope cutter_governance.manifest_envelope, p_owner_ref text) returns bytea[]
language plpgsql
as $$
declare
  v_digests bytea[];
begin
  with block as (
    select b.unit_local_id, b.render_order, b.proposed_canonical_address as address, b.section_type, b.title,
           internal.derived_uuid(p_change_set_id, 'unit,' || b.unit_local_id) as unit_id,
           internal.derived_uuid(p_change_set_id, 'version,' || b.unit_local_id) as version_id,
           -- By key, whatever the statistics say: fresh rows have none, and a join went through all of them for each.
           (select p.proposed_canonical_address from cutter_governance.manifest_unit_block p
             where p.envelope_id = b.envelope_id and p.unit_local_id = b.parent_local_id) as parent_address
      from cutter_governance.manifest_unit_block b
     where b.envelope_id = p_envelope.envelope_id),
  made as materialized (
    select block.*,
           (select v.content_hash from iu.unit_version v where v.id = block.version_id) as content_hash,
           (select l.row_digest from iu.iu_lifecycle_log l where l.unit_id = block.unit_id and l.seq = 1 and l.change_set_id = p_change_set_id) as lifecycle_digest
      from block),
  touched as (
    insert into cutter_governance.cut_change_set_affected_row (
      affected_row_id, change_set_id, render_order, target_table, target_row_id, operation_kind, after_state_snapshot, lifecycle_digest)
    select internal.derived_uuid(p_change_set_id, 'row,' || m.unit_local_id), p_change_set_id, m.render_order, 'iu.information_unit', m.unit_id, 'insert',
           cutter_governance.unit_snapshot(m.address, m.content_hash, m.unit_local_id, p_owner_ref, m.parent_address,
             p_envelope.publication_type, m.section_type, m.render_order, m.title, p_envelope.unit_kind, m.unit_id, m.version_id),
           m.lifecycle_digest
      from made m
     -- One that is no longer there is not recorded: then the effect is not what the executor signed.
     where m.content_hash is not null and m.lifecycle_digest is not null
    returning row_digest, render_order)
  select array_agg(t.row_digest) into v_digests from touched t;
  return v_digests;
end
$$;
