-- promise: a draft unit with its first text stands at the address, and its lifecycle log says who made it and by which change
--          set. An address that has a complete unit is answered with it: nothing is written twice.
-- callers: cutter_exec; cutter_governance.fn_cut calls it once a unit
-- locks: the document's prefix (its turn; one a document, not one a unit: 20,000 locks would exhaust shared memory)
-- refuses with: RI001–RI004 who asks, RI024 what is asked for
create or replace function iu.fn_iu_create(
  p_canonical_address text, p_title text, p_body text, p_actor text, p_unit_kind text default null, p_section_type text default null,
  p_owner_ref text default null, p_publication_type text default null, p_parent_ref uuid default null,
  p_sort_order integer default 0, p_provenance text default '{}', p_unit_id uuid default null, p_version_id uuid default null,
  p_change_set_id uuid default null, p_tool_revision text default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_unit_kind text := coalesce(p_unit_kind, iu.fn_iu_resolve_default('unit_kind', null) ->> 'value');
  v_section_type text := coalesce(p_section_type, iu.fn_iu_resolve_default('section_type', null) ->> 'value');
  v_publication_type text := coalesce(p_publication_type, iu.fn_iu_resolve_default('publication_type', null) ->> 'value');
  v_prefix text := split_part(p_canonical_address, '/', 1);
  v_unit_id uuid := coalesce(p_unit_id, internal.uuid_v7());
  v_version_id uuid := coalesce(p_version_id, internal.uuid_v7());
  v_owner text := coalesce(p_owner_ref, p_actor);
  v_content_hash text;
  v_now timestamptz;
  v_existing jsonb;
  v_unit_digest bytea;
  v_version_digest bytea;
  v_lifecycle_digest bytea;
begin
  perform iu.require_writer(p_actor);
  -- What the unit's gate cannot see: it asks for everything else.
  if coalesce(p_body, '') = '' or v_unit_kind is null or v_section_type is null or v_publication_type is null or internal.is_blank(p_title) then
    perform internal.refuse(internal.problem('RI024', coalesce(
      iu.unit_problem(p_canonical_address, p_title, v_owner, v_unit_kind, v_section_type, v_publication_type, p_parent_ref),
      jsonb_build_object('field', 'body', 'address', p_canonical_address))));
  -- It becomes a part of the unit's profile as it stands, so it is a flat object in canonical form and nothing more.
  elsif p_provenance <> '{}' and p_provenance !~ E'^[{]"[a-z0-9_]+":("[^"\\\\[:cntrl:]]*"|[0-9]+|\\[[0-9,]*\\])(,"[a-z0-9_]+":("[^"\\\\[:cntrl:]]*"|[0-9]+|\\[[0-9,]*\\]))*[}]$' then
    perform internal.refuse(internal.problem('RI024', jsonb_build_object('field', 'provenance', 'address', p_canonical_address)));
  end if;
  perform internal.take_turn('iu.units_of:' || v_prefix);
  if exists (select from iu.information_unit u where u.canonical_address = p_canonical_address and u.deleted_at is null) then
    v_existing := iu.fn_iu_classify_existing(p_canonical_address);
    return v_existing || jsonb_build_object('canonical_address', p_canonical_address);
  end if;

  -- A cut has reserved its permits by one call; a unit that is made alone reserves its own.
  if not exists (
      select from birth.birth_admission_permit p
       where p.collection_name = 'iu.information_unit' and p.entity_code = v_unit_id::text and p.live) then
    perform birth.reserve('iu.information_unit', array[row(null, v_unit_id::text, p_canonical_address, null, null, null, null)::birth.permit_ask],
                          p_actor, 'executor_dot991', 'cutter', null, null, null);
  end if;
  v_now := internal.now();
  v_content_hash := encode(sha256(convert_to(p_body, 'UTF8')), 'hex');
  perform set_config('app.canonical_writer', 'fn_iu_create', true);
  -- The profile is written in its canonical form: members in order, no blanks.
  insert into iu.information_unit (
    id, canonical_address, unit_kind, lifecycle_status, content_anchor_ref, version_anchor_ref, owner_ref, parent_or_container_ref,
    conformance_status, identity_profile, doc_code, section_type, section_code, sort_order, created_at, updated_at, created_by, updated_by)
  values (
    v_unit_id, p_canonical_address, v_unit_kind, 'draft', v_version_id::text, v_version_id, v_owner, p_parent_ref, 'open',
    concat('{"owner_lookup_ref":', to_jsonb(v_owner), ',"primary_section_type_ref":', to_jsonb(v_section_type), ',"provenance":', coalesce(p_provenance, '{}'),
           ',"publication_type_ref":', to_jsonb(v_publication_type), ',"title":', to_jsonb(p_title), '}'),
    v_prefix, v_section_type, substr(p_canonical_address, length(v_prefix) + 2), coalesce(p_sort_order, 0), v_now, v_now, p_actor, p_actor)
  returning row_digest into v_unit_digest;
  insert into iu.unit_version (id, unit_id, version_seq, title, body, content_hash, lifecycle_status, content_profile, created_at, created_by)
  values (v_version_id, v_unit_id, 1, p_title, p_body, v_content_hash, 'draft', concat('{"provenance":', coalesce(p_provenance, '{}'), '}'), v_now, p_actor)
  returning row_digest into v_version_digest;
  insert into iu.iu_lifecycle_log (
    lifecycle_log_id, unit_id, seq, change_kind, from_lifecycle, to_lifecycle, unit_version_id, unit_digest, version_digest, change_set_id,
    actor, tool_revision, at)
  values (internal.uuid_v7(), v_unit_id, 1, 'created', null, 'draft', v_version_id, v_unit_digest, v_version_digest, p_change_set_id,
          p_actor, p_tool_revision, v_now)
  returning row_digest into v_lifecycle_digest;
  return jsonb_build_object(
    'status', 'created', 'unit_id', v_unit_id, 'version_id', v_version_id, 'canonical_address', p_canonical_address,
    'content_hash', v_content_hash, 'lifecycle_digest', encode(v_lifecycle_digest, 'hex'));
end
$$;
