-- Locks iu.information_unit for a moment (its triggers): units become an admitted family. Makes the room of births.
create schema birth;
grant create on schema birth to chancery_definer, chancery_guard;
grant usage on schema birth to chancery_guard;
-- Owners of protected tables must be able to name the function that guards them.
grant usage on schema birth to chancery_definer with grant option;

alter table fsm.state_machine_def drop constraint machine_scope_is_known;
alter table fsm.state_machine_def add constraint machine_scope_is_known check
  (scope in ('step', 'task', 'workflow_run', 'cut_request', 'orchestrator_run', 'birth_permit', 'governance_candidate', 'job', 'dlq_replay', 'finding', 'custom'));

create table birth.family (
  collection_name text primary key,
  family_no integer generated always as identity unique,
  relation oid not null,
  code_column name not null,
  name_column name,
  code_rule text,
  ttl_seconds integer not null,
  enforced_from timestamptz,
  approval_required boolean not null default false,
  governance_role text not null default 'governed',
  active boolean not null default true,
  declared_by text not null references identity.principal (name),
  declared_at timestamptz not null,
  constraint family_name_is_plain check (octet_length(collection_name) between 1 and 130 and btrim(collection_name) = collection_name),
  constraint family_ttl_has_a_length check (ttl_seconds between 1 and 604800),
  constraint family_rule_is_short check (octet_length(code_rule) <= 500),
  constraint family_role_is_known check (governance_role in ('governed', 'observed', 'excluded'))
);
create unique index family_one_a_table on birth.family (relation) where active;
comment on table birth.family is
  'Tables under admission, and the policy of each. Without enforced_from, or before it, a birth without a permit is only reported.';
comment on column birth.family.relation is 'The table, by its number: a table that was restored elsewhere has another one and must be protected again.';
comment on column birth.family.enforced_from is 'The cutoff: what is born from then on needs a permit. What is older is grandfathered.';

-- Who changed which policy, and how. The family's row is how it stands.
create table birth.family_log (
  family_log_id uuid primary key,
  collection_name text not null,
  action text not null,
  policy internal.canonical_object not null,
  principal text not null,
  login_role text not null,
  at timestamptz not null,
  row_digest bytea not null,
  constraint family_action_is_known check (action in ('protected', 'changed', 'released', 'broke_glass'))
);
create index family_log_collection_idx on birth.family_log (collection_name, at);
comment on table birth.family_log is 'Every change of a family''s policy, with who made it.';

create table birth.birth_admission_permit (
  permit_id uuid primary key,
  collection_name text not null,
  entity_code text not null,
  request_hash bytea not null,
  batch_id uuid,
  status text not null,
  live boolean not null default true,
  facet text,
  seq bigint not null,
  head_hash bytea,
  state_machine_id text not null,
  entity_name text,
  species_code text,
  governance_role text not null,
  payload_digest bytea,
  requested_by_dot text not null,
  approval_id uuid,
  started_by text not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  consumed_xid xid8,
  consumed_by name,
  finalized_birth_id uuid,
  trace_id text not null,
  correlation_id text not null,
  last_transition_at timestamptz not null
) with (fillfactor = 50);
-- One permit that is live, or led to a birth, a code. `live` and `seq` and not the status stand in these: a permit is consumed without
-- touching any index (its first log row is still its newest until it is settled). Each clause holds only for who asks by the index's own
-- column: a planner that found a table or an index empty takes a scan of any index that fits for as good, and keeps to it.
create unique index permit_one_a_code on birth.birth_admission_permit (collection_name, entity_code) where live and entity_code is not null;
create unique index permit_one_a_request on birth.birth_admission_permit (request_hash) where live and request_hash is not null;
create index permit_over_code_idx on birth.birth_admission_permit (collection_name, entity_code) where not live and entity_code is not null;
create index permit_over_request_idx on birth.birth_admission_permit (request_hash) where not live and request_hash is not null;
create index permit_expiring_idx on birth.birth_admission_permit (expires_at) where live and seq = 1;
comment on table birth.birth_admission_permit is
  'Single-use permits. Reserved by a request, consumed by the insert, finalized at its commit; each of them a row in the log.';
comment on column birth.birth_admission_permit.request_hash is
  'SHA-256 over the length-prefixed collection, code and normalized intent: the same request again finds its permit.';
comment on column birth.birth_admission_permit.payload_digest is 'SHA-256 of the canonical payload that was announced. The payload itself is the row.';
comment on column birth.birth_admission_permit.live is 'RESERVED, CONSUMED or FINALIZED; set by the trigger that lets the row in.';
-- Deliberately no checks: PostgreSQL reads each one anew in every statement, and the constraint trigger holds the row to its log. No foreign
-- keys either: the rows they would lock (a family, a machine, a principal) are the same for every birth.

create table birth.birth_registry (
  birth_id uuid primary key,
  entity_code text not null,
  collection_name text not null,
  entity_name text,
  species_code text,
  governance_role text not null,
  dot_origin text not null,
  status text not null default 'born',
  admission text not null,
  permit_id uuid unique,
  born_at timestamptz not null,
  born_by name not null,
  xid xid8 not null,
  row_digest bytea not null,
  constraint birth_once_a_code unique (entity_code, collection_name)
);
create index birth_by_transaction_idx on birth.birth_registry (xid);
create index birth_without_permit_idx on birth.birth_registry (collection_name, born_at) where admission <> 'permit';
comment on table birth.birth_registry is 'What was born, once a code and collection, and by which permit. Nothing leaves it.';
comment on column birth.birth_registry.admission is 'By a permit; without one, where that is only reported; or while the glass was broken.';

create table birth.departure (
  departure_id bigint generated always as identity primary key,
  collection_name text not null,
  entity_code text not null,
  left_by name not null,
  left_at timestamptz not null,
  xid xid8 not null,
  returned boolean not null default false
) with (fillfactor = 70);
create index departure_code_idx on birth.departure (collection_name, entity_code);
comment on table birth.departure is
  'Rows that left a protected table. One that comes back in the same transaction was moved (to another partition), not born.';

create table birth.break_glass (
  break_glass_id uuid primary key,
  collection_name text not null,
  reason text not null,
  approval_id uuid not null,
  opened_by text not null references identity.principal (name),
  opened_at timestamptz not null,
  expires_at timestamptz not null,
  row_digest bytea not null,
  constraint break_glass_says_why check (btrim(reason) <> ''),
  constraint break_glass_ends check (expires_at > opened_at and expires_at <= opened_at + interval '24 hours')
);
create index break_glass_open_idx on birth.break_glass (collection_name, expires_at);
comment on table birth.break_glass is 'Times in which a family admits births without permits: for a reason, approved by another person, and with an end.';

create table birth.rehearsal (
  xid xid8 primary key,
  collection_name text not null,
  entity_code text not null
);
comment on table birth.rehearsal is 'Always empty: a transaction that rehearses a birth leaves its mark here and can therefore not commit.';

create table governance.governance_candidate_state (
  candidate_id uuid primary key,
  birth_id uuid not null unique,
  object_type text not null,
  object_ref text not null,
  state_machine_id text not null,
  state text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  started_by text not null,
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint candidate_head_hash_iff_born check ((head_hash is null) = (seq = 0))
) with (fillfactor = 70);
comment on table governance.governance_candidate_state is 'What was born and is handed to governance: each birth once.';

create table birth.handoff_cursor (
  only_one boolean primary key default true,
  seen_snapshot pg_snapshot not null,
  system_identifier bigint not null,
  constraint handoff_cursor_has_one_row check (only_one)
);
insert into birth.handoff_cursor (seen_snapshot, system_identifier) values ('1:1:', 0);
comment on table birth.handoff_cursor is 'Which births the tail has seen: all that were committed in this snapshot.';

create table iu.dot_iu_command_catalog (
  command_name text primary key,
  category text not null,
  mutating boolean not null,
  reversible boolean not null,
  target_functions text[] not null,
  registered_at timestamptz not null,
  constraint command_category_is_known check (category in ('collection', 'piece', 'lifecycle', 'read', 'health'))
);
comment on table iu.dot_iu_command_catalog is 'The commands that may write into the command log. What is not here is refused.';
insert into iu.dot_iu_command_catalog (command_name, category, mutating, reversible, target_functions, registered_at) values
  ('dot_birth_admit', 'lifecycle', true, false, '{birth.fn_birth_permit_request,birth.fn_birth_permit_fail}', now());

create table iu.dot_iu_command_run (
  command_run_id uuid primary key,
  command_name text not null references iu.dot_iu_command_catalog (command_name),
  run_mode text not null,
  phase text not null,
  status text not null,
  request_hash bytea not null,
  attempt integer not null,
  before_state internal.canonical_object not null,
  after_state internal.canonical_object not null,
  actor text not null,
  login_role text not null,
  at timestamptz not null,
  row_digest bytea not null,
  constraint command_mode_is_known check (run_mode in ('plan', 'apply', 'verify')),
  constraint command_status_is_known check (status in ('ok', 'failed')),
  constraint command_phase_is_known check
    (phase in ('REQUESTED', 'VALIDATED', 'RESERVED', 'CONSUMED', 'FINALIZED', 'HANDOFF_ENQ', 'DONE', 'FAILED', 'EXPIRED', 'REVOKED'))
);
create unique index command_step_once on iu.dot_iu_command_run (request_hash, command_name, attempt, phase);
comment on table iu.dot_iu_command_run is 'Which call did what, step by step: the ledger of the DOT commands.';
comment on column iu.dot_iu_command_run.attempt is 'A request that expired or failed may be made again; its steps then stand under the next number.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('birth.family_log', '{}', 'changes of policies'),
  ('birth.birth_registry', '{}', 'births'),
  ('birth.break_glass', '{}', 'times without enforcement'),
  ('governance.governance_candidate_state', '{state,facet,seq,head_hash,last_transition_at}', 'births as they were handed over; the state is the log''s'),
  ('iu.dot_iu_command_run', '{}', 'steps of DOT commands');

insert into fsm.run_kind_def (run_kind, scope, table_name, id_column, state_column, parent_column, facts_expression, moved_by_its_room) values
  ('birth_permit', 'birth_permit', 'birth.birth_admission_permit', 'permit_id', 'status', null,
   'jsonb_build_object(''collection_name'', r.collection_name, ''entity_code'', r.entity_code)', true),
  ('governance_candidate', 'governance_candidate', 'governance.governance_candidate_state', 'candidate_id', 'state', null,
   'jsonb_build_object(''object_type'', r.object_type, ''object_ref'', r.object_ref)', true);
insert into fsm.lock_target_def (target, lock_fn, description) values
  ('birth_row', 'birth.lock_birth_row', 'The birth of the permit''s code; nothing leaves the registry, so there is nothing to lock.');

insert into approval.approval_kind (kind, risk, subject_kind, max_ttl_seconds, description) values
  ('birth_admission', 'low', 'birth_request', 604800, 'One object may be born, where the policy of its family asks for this.'),
  ('birth_break_glass', 'medium', 'birth_family', 86400, 'A family admits births without permits for a while.');

insert into config.dot_config (key, value, description) values
  ('birth.permit.max_batch', '20000', 'So many permits are reserved in one call at most.'),
  ('birth.permit.silent_gap_seconds', '60', 'A permit that is past its time for so long and was not expired means that the watchdog is silent.'),
  ('birth.handoff.max_batch', '1000', 'So many births are handed over in one pass at most.'),
  ('birth.break_glass.max_minutes', '1440', 'The glass stays broken so long at most.'),
  ('birth.payload.max_bytes', '262144', 'A payload of one birth is at most this long.');

-- Units are a family like any other. Their code is the id: an address is free again once its unit was taken back.
insert into birth.family (collection_name, relation, code_column, name_column, ttl_seconds, enforced_from, declared_by, declared_at) values
  ('iu.information_unit', 'iu.information_unit'::regclass, 'id', 'canonical_address', 3600, now(), 'chancery', now());

update config.dot_config
   set value = value || '["birth.family","birth.family_log","birth.birth_admission_permit","birth.birth_registry","birth.departure","birth.break_glass","birth.rehearsal",
                          "birth.handoff_cursor","governance.governance_candidate_state","iu.dot_iu_command_run"]'
 where key = 'orchestrator.backup.tables';

-- What is asked for: the shape of the elements that birth.reserve reads.
create type birth.permit_ask as (
  permit_id uuid,
  entity_code text,
  entity_name text,
  species_code text,
  governance_role text,
  payload_digest bytea,
  signature bytea
);
