-- Locks nothing of yours: makes the room of source documents and information units.
create schema iu;
grant usage, create on schema iu to chancery_definer, chancery_guard;

-- Which tables are evidence. Each of them has a column row_digest, stamped by a generated trigger over every other column but
-- those named here: a row that was changed behind the triggers' back no longer fits its digest, and the digests of what a move
-- wrote stand in the move's log row.
create table audit.evidence_def (
  table_name text primary key,
  mutable_columns text[] not null default '{}',
  description text not null
);
comment on table audit.evidence_def is 'Tables whose rows carry a digest of themselves; the stamping triggers are generated from these rows.';
comment on column audit.evidence_def.mutable_columns is 'Outside the digest, because they change by a door; the audit derives each of them from other evidence.';

-- The bytes that are hashed are the bytes that are stored (RFC 8785), so JSON evidence is text that is JSON.
create domain internal.canonical_object as text
  constraint is_a_json_object check (jsonb_typeof(value::jsonb) = 'object');

create table iu.source_document (
  document_id text primary key,
  address_docprefix text not null unique,
  created_by text not null references identity.principal (name),
  created_at timestamptz not null,
  row_digest bytea not null,
  constraint document_id_is_plain check (document_id ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  constraint docprefix_is_plain check (address_docprefix ~ '^[A-Z][A-Z0-9-]{1,31}$')
);
comment on table iu.source_document is 'A document by its name. Its prefix is the first part of every address in it, and no other document''s.';

create table iu.source_version (
  source_version_id uuid primary key,
  document_id text not null references iu.source_document (document_id),
  version_seq integer not null,
  media_type text not null,
  content_sha256 bytea not null,
  byte_length integer not null,
  body bytea not null,
  created_by text not null references identity.principal (name),
  created_at timestamptz not null,
  row_digest bytea not null,
  constraint source_version_once unique (document_id, version_seq),
  constraint source_content_once unique (document_id, content_sha256),
  constraint source_media_type_is_known check (media_type in ('text/markdown', 'text/plain')),
  constraint source_is_what_its_digest_says check (content_sha256 = sha256(body)),
  constraint source_length_is_its_length check (byte_length = octet_length(body)),
  constraint source_is_not_empty check (byte_length > 0)
);
comment on table iu.source_version is 'The bytes of a document as they were given. Content-addressed: the same bytes are the same version.';

create table iu.information_unit (
  id uuid primary key,
  canonical_address text not null,
  unit_kind text not null,
  lifecycle_status text not null default 'draft',
  content_anchor_ref text not null,
  version_anchor_ref uuid not null,
  owner_ref text not null,
  parent_or_container_ref uuid references iu.information_unit (id),
  conformance_status text not null default 'open',
  identity_profile internal.canonical_object not null,
  doc_code text not null,
  section_type text not null,
  section_code text not null,
  sort_order integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by text not null,
  updated_by text not null,
  deleted_at timestamptz,
  row_digest bytea not null,
  constraint lifecycle_is_known check (lifecycle_status in ('draft', 'enacted', 'superseded', 'retired'))
);
-- A unit that was taken back keeps its row and gives its address free, so that what failed can be cut again.
create unique index information_unit_address_live on iu.information_unit (canonical_address) where deleted_at is null;
create index information_unit_document_idx on iu.information_unit (doc_code, sort_order);
comment on table iu.information_unit is 'An addressable piece of a document. Its text stands in its versions; the anchor says which one holds.';

create table iu.unit_version (
  id uuid primary key,
  unit_id uuid not null references iu.information_unit (id),
  version_seq integer not null,
  title text not null,
  body text not null,
  content_hash text not null,
  lifecycle_status text not null default 'draft',
  content_profile internal.canonical_object not null,
  created_at timestamptz not null,
  created_by text not null,
  enacted_at timestamptz,
  row_digest bytea not null,
  constraint unit_version_once unique (unit_id, version_seq)
);
comment on column iu.unit_version.content_hash is 'SHA-256 of the body''s UTF-8 bytes, in hex.';
alter table iu.information_unit add constraint fk_iu_version_anchor
  foreign key (version_anchor_ref) references iu.unit_version (id) deferrable initially deferred;

create table iu.unit_edit_draft (
  draft_id uuid primary key,
  unit_id uuid not null references iu.information_unit (id),
  base_version_id uuid not null references iu.unit_version (id),
  title text not null,
  body text not null,
  created_by text not null,
  created_at timestamptz not null,
  row_digest bytea not null
);
comment on table iu.unit_edit_draft is 'A proposed new text of a draft unit; applied by fn_iu_apply_edit_draft while its base is still the anchor.';

create table iu.iu_lifecycle_log (
  lifecycle_log_id uuid primary key,
  unit_id uuid not null references iu.information_unit (id),
  seq integer not null,
  change_kind text not null,
  from_lifecycle text,
  to_lifecycle text not null,
  unit_version_id uuid not null references iu.unit_version (id),
  unit_digest bytea not null,
  version_digest bytea not null,
  review_decision_id uuid,
  change_set_id uuid,
  edit_draft_id uuid references iu.unit_edit_draft (draft_id),
  actor text not null,
  reason text,
  tool_revision text,
  at timestamptz not null,
  prev_digest bytea,
  row_digest bytea not null,
  constraint lifecycle_log_once unique (unit_id, seq),
  constraint lifecycle_change_is_known check (change_kind in ('created', 'edited', 'enacted', 'compensated')),
  constraint lifecycle_chain_starts_at_one check ((prev_digest is null) = (seq = 1))
);
create index lifecycle_log_draft_idx on iu.iu_lifecycle_log (edit_draft_id) where edit_draft_id is not null;
comment on table iu.iu_lifecycle_log is
  'Every change of every unit, chained within the unit: what the unit and its version looked like afterwards, who did it and on which decision.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('iu.source_document', '{}', 'documents'),
  ('iu.source_version', '{}', 'source bytes'),
  ('iu.information_unit', '{}', 'units; stamped again by every change, and each stamp stands in the lifecycle log'),
  ('iu.unit_version', '{}', 'texts of units; stamped again when enacted, and each stamp stands in the lifecycle log'),
  ('iu.unit_edit_draft', '{}', 'proposed texts'),
  ('iu.iu_lifecycle_log', '{}', 'changes of units');

insert into config.dot_config (key, value, description) values
  ('vocab.unit_kind.law_unit', '"A unit of a legal text"', 'Kind of unit.'),
  ('vocab.unit_kind.design_doc_section', '"A section of a written document"', 'Kind of unit.'),
  ('vocab.section_type.preamble', '"Text before the first heading"', 'Kind of section.'),
  ('vocab.section_type.part', '"Part, Phần"', 'Kind of section.'),
  ('vocab.section_type.chapter', '"Chapter, Chương"', 'Kind of section.'),
  ('vocab.section_type.section', '"Section, Mục"', 'Kind of section.'),
  ('vocab.section_type.article', '"Article, Điều"', 'Kind of section.'),
  ('vocab.section_type.clause', '"Clause, Khoản"', 'Kind of section.'),
  ('vocab.section_type.point', '"Point, Điểm"', 'Kind of section.'),
  ('vocab.section_type.heading', '"A heading of a written document"', 'Kind of section.'),
  ('vocab.publication_type.law', '"Law, decree, regulation"', 'Kind of publication.'),
  ('vocab.publication_type.policy', '"Policy or rule of an organisation"', 'Kind of publication.'),
  ('vocab.publication_type.document', '"Any other written document"', 'Kind of publication.'),
  ('iu_create.gateway.allowed_marker_values', '["fn_iu_create","fn_iu_apply_edit_draft","fn_iu_enact","fn_iu_retire"]',
   'The writers a unit accepts; each marks its transaction.'),
  ('iu.source.max_bytes', '67108864', 'A source document is at most this long.');
