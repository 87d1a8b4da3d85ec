create or replace view cutter_governance.v_manifest_unit_block with (security_barrier) as
select t.envelope_id, t.unit_local_id, t.block_role, t.render_order, t.span_start, t.span_end, t.region_sha,
       t.proposed_canonical_address, t.section_type, t.title, t.parent_local_id, t.row_digest, t.digest_version
  from cutter_governance.manifest_unit_block t;
comment on view cutter_governance.v_manifest_unit_block is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
