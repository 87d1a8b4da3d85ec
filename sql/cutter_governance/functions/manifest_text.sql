-- promise: the canonical text (RFC 8785) whose SHA-256 is the manifest's digest: what is cut out of which bytes, and how.
--          Ids of rows and times are not in it, so two rebuilds agree. Rust builds the same text from the source alone.
create or replace function cutter_governance.manifest_text(p_envelope_id uuid) returns text
language sql stable
as $$
  select concat(
    '{"content_sha256":"', encode(e.region_sha, 'hex'), '","document_id":', to_jsonb(e.document_id), ',"operation":', to_jsonb(e.operation_kind),
    ',"prefix":', to_jsonb(d.address_docprefix), ',"profile":', to_jsonb(e.profile), ',"publication_type":', to_jsonb(e.publication_type),
    ',"source_version_id":"', e.source_version_id, '","unit_kind":', to_jsonb(e.unit_kind), ',"units":[',
    (select string_agg(concat(
       '{"address":', to_jsonb(b.proposed_canonical_address), ',"end":', b.span_end, ',"local_id":', to_jsonb(b.unit_local_id),
       ',"parent":', coalesce(to_jsonb(b.parent_local_id), 'null'), ',"section_type":', to_jsonb(b.section_type),
       ',"sha256":"', encode(b.region_sha, 'hex'), '","start":', b.span_start, ',"title":', to_jsonb(b.title), '}'), ',' order by b.render_order)
       from cutter_governance.manifest_unit_block b where b.envelope_id = e.envelope_id),
    '],"v":1}')
    from cutter_governance.manifest_envelope e join iu.source_document d using (document_id)
   where e.envelope_id = p_envelope_id
$$;
