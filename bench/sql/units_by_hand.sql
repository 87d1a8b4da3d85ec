-- The rows of fn_iu_create, set-based: hashes and digests are made here as well.
with given as materialized (
  select u.n::integer, u.title, u.body, $1 || '/h' || u.n as address, u.unit_id, internal.uuid_v7() as version_id,
         encode(sha256(convert_to(u.body, 'UTF8')), 'hex') as content_hash, internal.now() as at
    from unnest($2::text[], $3::text[], $4::uuid[]) with ordinality u (title, body, unit_id, n)),
profiled as materialized (
  select g.*, concat('{"owner_lookup_ref":"bench","primary_section_type_ref":"heading","provenance":{},"publication_type_ref":"document","title":',
                     to_jsonb(g.title), '}') as profile
    from given g),
digested as materialized (
  select p.*,
         sha256(convert_to(concat('row', p.unit_id, p.address, p.version_id, p.profile, p.n, p.at, p.at, 'design_doc_section', 'draft', 'open'), 'UTF8')) as unit_digest,
         sha256(convert_to(concat('row', p.version_id, p.unit_id, p.title, p.body, p.content_hash, p.at, 'draft'), 'UTF8')) as version_digest
    from profiled p),
units as (
  insert into bench.information_unit (
    id, canonical_address, unit_kind, lifecycle_status, content_anchor_ref, version_anchor_ref, owner_ref, conformance_status, identity_profile,
    doc_code, section_type, section_code, sort_order, created_at, updated_at, created_by, updated_by, row_digest)
  select d.unit_id, d.address, 'design_doc_section', 'draft', d.version_id::text, d.version_id, 'bench', 'open', d.profile, $1, 'heading', 'h' || d.n,
         d.n, d.at, d.at, 'bench', 'bench', d.unit_digest
    from digested d),
texts as (
  insert into bench.unit_version (
    id, unit_id, version_seq, title, body, content_hash, lifecycle_status, content_profile, created_at, created_by, row_digest)
  select d.version_id, d.unit_id, 1, d.title, d.body, d.content_hash, 'draft', '{"provenance":{}}', d.at, 'bench', d.version_digest
    from digested d)
insert into bench.iu_lifecycle_log (
  lifecycle_log_id, unit_id, seq, change_kind, to_lifecycle, unit_version_id, unit_digest, version_digest, actor, at, row_digest)
select internal.uuid_v7(), d.unit_id, 1, 'created', 'draft', d.version_id, d.unit_digest, d.version_digest, 'bench', d.at,
       sha256(convert_to(concat('row', d.unit_id, d.version_id, d.unit_digest, d.version_digest, d.at), 'UTF8'))
  from digested d
