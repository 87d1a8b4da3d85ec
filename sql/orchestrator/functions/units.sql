-- owner: chancery_guard
-- promise: the units that a run's manifest makes, as planned and as they stand; whatever is missing is null.
create or replace function orchestrator.units(p_run_id uuid)
  returns table (local_id text, address text, section_type text, planned_hash text, unit_id uuid, unit iu.information_unit, version iu.unit_version)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select b.unit_local_id, b.proposed_canonical_address, b.section_type, encode(b.region_sha, 'hex'), b.unit_id, u, v
    from (select b.*, internal.derived_uuid(internal.derived_uuid(p_run_id, 'change_set'), 'unit,' || b.unit_local_id) as unit_id
            from cutter_governance.manifest_unit_block b where b.envelope_id = internal.derived_uuid(p_run_id, 'manifest')) b
    left join iu.information_unit u on u.id = b.unit_id
    left join iu.unit_version v on v.id = u.version_anchor_ref
$$;
