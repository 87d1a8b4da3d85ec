create or replace view cutter_governance.v_manifest_unit_block_observe with (security_barrier) as
select t.envelope_id, t.unit_local_id, t.block_role, t.render_order, t.proposed_canonical_address, t.section_type,
       t.parent_local_id, t.row_digest
  from cutter_governance.manifest_unit_block t;
comment on view cutter_governance.v_manifest_unit_block_observe is 'For the observer: without span_start, span_end, region_sha, title.';
