-- promise: a unit as a manifest makes it, in canonical form. Without ids it is a line of the writer's digest, with ids the snapshot
--          that stands in the ledger of effects and is signed.
create or replace function cutter_governance.unit_snapshot(
  p_address text, p_content_hash text, p_local_id text, p_owner_ref text, p_parent_address text, p_publication_type text, p_section_type text,
  p_sort_order integer, p_title text, p_unit_kind text, p_unit_id uuid, p_version_id uuid
) returns text
language sql stable
as $$
  select concat(
    '{"address":', to_jsonb(p_address), ',"content_hash":"', p_content_hash, '","local_id":', to_jsonb(p_local_id), ',"owner_ref":', to_jsonb(p_owner_ref),
    ',"parent_address":', coalesce(to_jsonb(p_parent_address), 'null'), ',"publication_type":', to_jsonb(p_publication_type),
    ',"section_type":', to_jsonb(p_section_type), ',"sort_order":', p_sort_order, ',"title":', to_jsonb(p_title),
    ',"unit_id":"' || p_unit_id || '"', ',"unit_kind":', to_jsonb(p_unit_kind), ',"version_id":"' || p_version_id || '"', '}')
$$;
