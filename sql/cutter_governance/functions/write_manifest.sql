-- promise: the plan stands in its two tables: its units are the source without gap or overlap, each with the hash of its bytes,
--          and the whole has the digest that the reviewer saw. Gives the digests of all its rows.
-- refuses with: RC005 the plan does not hold together, RC006 its digest is another one
create or replace function cutter_governance.write_manifest(
  p_entry cutter_governance.decision_backlog_entry, p_manifest jsonb, p_envelope_id uuid, p_expected_digest bytea, p_status text,
  p_reviewer text, p_rationale text, p_tool_revision text
) returns bytea[]
language plpgsql
as $$
declare
  v_source iu.source_version;
  v_body bytea;
  v_prefix text := (select d.address_docprefix from iu.source_document d where d.document_id = p_entry.document_id);
  v_max constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'cutter.manifest.max_units');
  v_problem jsonb;
  v_digest bytea;
  v_digests bytea[];
begin
  select v.* into strict v_source from iu.source_version v where v.source_version_id = p_entry.source_version_id;
  -- Fetched once and whole: cutting a compressed value in place would unpack it again for every unit.
  v_body := v_source.body || ''::bytea;
  v_problem := cutter_governance.manifest_problem(p_manifest, v_body, v_prefix, v_max);
  if v_problem is not null then
    perform internal.refuse(internal.problem('RC005', v_problem || jsonb_build_object('entry_id', p_entry.entry_id)));
  end if;

  insert into cutter_governance.manifest_envelope (
    envelope_id, operation_kind, status, source_doc_ref, entry_id, document_id, source_version_id, region_sha, profile, unit_kind, publication_type,
    unit_count, manifest_digest, tool_revision, created_by, created_at, reviewer, reviewed_at, rationale)
  values (
    p_envelope_id, 'first_cut', p_status, p_entry.entry_id::text, p_entry.entry_id, p_entry.document_id, p_entry.source_version_id,
    v_source.content_sha256, p_manifest ->> 'profile', p_manifest ->> 'unit_kind', p_manifest ->> 'publication_type',
    jsonb_array_length(p_manifest -> 'units'), p_expected_digest, p_tool_revision, p_reviewer, internal.now(), p_reviewer, internal.now(), p_rationale)
  returning array[row_digest] into v_digests;
  with block as (
    insert into cutter_governance.manifest_unit_block (
      envelope_id, unit_local_id, block_role, render_order, span_start, span_end, region_sha, proposed_canonical_address, section_type, title,
      parent_local_id)
    select p_envelope_id, u.value ->> 'local_id', 'result', u.n, (u.value ->> 'start')::integer, (u.value ->> 'end')::integer,
           decode(u.value ->> 'sha256', 'hex'), u.value ->> 'address', u.value ->> 'section_type', u.value ->> 'title', u.value ->> 'parent'
      from jsonb_array_elements(p_manifest -> 'units') with ordinality u (value, n)
    returning row_digest)
  select v_digests || array_agg(block.row_digest) into v_digests from block;

  v_digest := sha256(convert_to(cutter_governance.manifest_text(p_envelope_id), 'UTF8'));
  if v_digest is distinct from p_expected_digest then
    perform internal.refuse(internal.problem('RC006', jsonb_build_object(
      'entry_id', p_entry.entry_id, 'expected', encode(p_expected_digest, 'hex'), 'found', encode(v_digest, 'hex'))));
  end if;
  return v_digests;
end
$$;
