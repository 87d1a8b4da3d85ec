-- Locks nothing of yours: makes the room of approvals.
create schema approval;
grant usage, create on schema approval to chancery_definer, chancery_guard;

create table approval.quorum_rule (
  risk text primary key,
  sovereigns integer not null,
  reviewers integer not null,
  approvals integer not null,
  rejects_allowed integer not null,
  description text not null,
  constraint quorum_risk_is_known check (risk in ('low', 'medium', 'high'))
);
comment on table approval.quorum_rule is 'How many votes of whom an approval needs. The proposer''s own vote never counts.';
insert into approval.quorum_rule (risk, sovereigns, reviewers, approvals, rejects_allowed, description) values
  ('high', 1, 2, 3, 0, 'One human sovereign and two reviewers besides, and nobody against it.'),
  ('medium', 1, 0, 1, 0, 'One human sovereign, and nobody against it.'),
  ('low', 0, 0, 1, 0, 'One approving vote, and nobody against it.');

create table approval.approval_kind (
  kind text primary key,
  risk text not null references approval.quorum_rule (risk),
  subject_kind text not null,
  max_ttl_seconds integer not null,
  description text not null,
  constraint approval_kind_is_a_word check (kind ~ '^[a-z][a-z0-9_]*$')
);
comment on table approval.approval_kind is 'What can be approved, about what kind of subject, and under which risk.';
insert into approval.approval_kind (kind, risk, subject_kind, max_ttl_seconds, description) values
  ('transition_activation', 'medium', 'transition', 2592000, 'A proposed transition of a machine may fire from now on.'),
  ('run_transition', 'medium', 'run', 2592000, 'One run makes one move that asks for an approval.');

create table approval.approval_request (
  approval_id uuid primary key,
  kind text not null references approval.approval_kind (kind),
  subject_kind text not null,
  subject_ref text not null,
  subject_digest bytea,
  risk text not null references approval.quorum_rule (risk),
  title text not null,
  facts internal.canonical_object not null,
  proposer text not null references identity.principal (name),
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  key_id uuid not null references identity.signing_key (key_id),
  request_payload text not null,
  signature bytea not null,
  signed_at timestamptz not null,
  row_digest bytea not null,
  constraint approval_title_is_not_blank check (btrim(title) <> ''),
  constraint approval_signature_is_ed25519 check (octet_length(signature) = 64)
);
create index approval_request_subject_idx on approval.approval_request (subject_kind, subject_ref);
comment on table approval.approval_request is 'What somebody asks others to approve: of which kind, about exactly what, until when. Signed by who asks.';

create table approval.approval_vote (
  vote_id uuid primary key,
  approval_id uuid not null references approval.approval_request (approval_id),
  voter text not null references identity.principal (name),
  vote_seq integer not null,
  decision text not null,
  rationale text,
  counted_as text not null,
  key_id uuid not null references identity.signing_key (key_id),
  vote_payload text not null,
  signature bytea not null,
  signed_at timestamptz not null,
  voted_at timestamptz not null,
  row_digest bytea not null,
  constraint vote_once_a_turn unique (approval_id, voter, vote_seq),
  constraint vote_decision_is_known check (decision in ('approve', 'reject', 'abstain')),
  constraint vote_counts_as_known check (counted_as in ('sovereign', 'reviewer', 'other')),
  constraint vote_signature_is_ed25519 check (octet_length(signature) = 64)
);
comment on table approval.approval_vote is 'Signed votes. A voter may vote again while nothing is decided; the newest vote of each counts.';
comment on column approval.approval_vote.counted_as is 'What the voter was when voting: a human sovereign, a reviewer, or neither.';

create table approval.approval_use (
  approval_id uuid primary key references approval.approval_request (approval_id),
  used_for_kind text not null,
  used_for_ref text not null,
  used_by text not null,
  used_at timestamptz not null,
  row_digest bytea not null
);
comment on table approval.approval_use is 'An approval is used once: this row is what it was used for.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('approval.approval_request', '{}', 'requests for approval'),
  ('approval.approval_vote', '{}', 'votes'),
  ('approval.approval_use', '{}', 'what approvals were used for');
