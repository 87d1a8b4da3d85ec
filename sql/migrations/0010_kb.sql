-- Locks nothing of yours: makes the room of the knowledge base.
create schema kb;
grant usage, create on schema kb to chancery_definer, chancery_guard;

create table kb.revision (
  path text not null,
  revision integer not null,
  kind text not null,
  body text not null,
  sha256 bytea not null,
  author text not null references identity.principal (name),
  created_at timestamptz not null,
  row_digest bytea not null,
  primary key (path, revision),
  constraint kb_path_is_a_path check (path ~ '^[a-z0-9][a-z0-9._-]{0,199}(/[a-z0-9][a-z0-9._-]{0,199})*$' and length(path) <= 400),
  -- Exported, a document is PATH.md with PATH/1.md, PATH/1.json … beside it: no other document lies where one of these is a folder.
  constraint kb_path_can_be_a_file check (path !~ '\.md/|(^|/)[0-9]+\.(md|json)(/|$)'),
  constraint kb_kind_is_a_word check (kind ~ '^[a-z][a-z0-9_]*$'),
  constraint kb_revision_is_positive check (revision >= 1),
  constraint kb_body_is_what_its_digest_says check (sha256 = sha256(convert_to(body, 'UTF8')))
);
comment on table kb.revision is 'Every revision of every document of the knowledge base, immutable. The path is the document''s id.';

create table kb.revision_signature (
  signature_id uuid primary key,
  path text not null,
  revision integer not null,
  signer text not null references identity.principal (name),
  meaning text not null,
  key_id uuid not null references identity.signing_key (key_id),
  signature_payload text not null,
  signature bytea not null,
  signed_at timestamptz not null,
  recorded_at timestamptz not null,
  row_digest bytea not null,
  foreign key (path, revision) references kb.revision (path, revision),
  constraint kb_signed_once_with_a_meaning unique (path, revision, signer, meaning),
  constraint kb_signature_is_ed25519 check (octet_length(signature) = 64)
);
comment on table kb.revision_signature is 'Who put their name under which revision, and what they meant by it.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('kb.revision', '{}', 'revisions of documents of the knowledge base'),
  ('kb.revision_signature', '{}', 'signatures under revisions');
insert into config.dot_config (key, value, description) values
  ('kb.body.max_bytes', '4194304', 'A document of the knowledge base is at most this long.');
