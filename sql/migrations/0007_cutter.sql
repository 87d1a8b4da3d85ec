-- Locks nothing of yours: makes the room of the cutter, the eleven tables of the flow MARK → REVIEW → CUT → VERIFY.
create schema cutter_governance;
grant usage, create on schema cutter_governance to chancery_definer, chancery_guard;

create table cutter_governance.decision_backlog_entry (
  entry_id uuid primary key,
  kind text not null,
  status text not null,
  payload internal.canonical_object not null,
  emitted_at timestamptz not null,
  scenario_ref text,
  idempotency_key text not null unique,
  document_id text references iu.source_document (document_id),
  source_version_id uuid references iu.source_version (source_version_id),
  escalation_of uuid references cutter_governance.decision_backlog_entry (entry_id),
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  facet text,
  seq bigint not null,
  head_hash bytea,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint entry_kind_is_known check (kind in ('cut_request', 'escalation')),
  constraint entry_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint entry_trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$' and trace_id !~ '^0{32}$')
) with (fillfactor = 85);
create index entry_promotable_idx on cutter_governance.decision_backlog_entry (emitted_at, entry_id)
  where status in ('marked', 'reviewed_deferred');
comment on table cutter_governance.decision_backlog_entry is
  'The spine: one row a request. Its status is the state of the machine cut_request and changes through the engine only.';

create table cutter_governance.decision_backlog_dependency (
  dependency_id uuid primary key,
  from_entry_id uuid not null references cutter_governance.decision_backlog_entry (entry_id),
  to_entry_id uuid not null references cutter_governance.decision_backlog_entry (entry_id),
  dependency_kind text not null default 'blocks',
  created_by text not null,
  created_at timestamptz not null,
  row_digest bytea not null,
  constraint dependency_once unique (from_entry_id, to_entry_id, dependency_kind),
  constraint dependency_kind_is_known check (dependency_kind in ('blocks', 'supersedes', 'refines', 'related_to'))
);
create index dependency_to_idx on cutter_governance.decision_backlog_dependency (to_entry_id);
comment on table cutter_governance.decision_backlog_dependency is 'What a request waits for. Only "blocks" keeps it from being cut.';

create table cutter_governance.decision_backlog_sweep_log (
  sweep_id uuid primary key,
  sweep_seq bigint not null unique,
  swept_by text not null,
  sweep_trigger_kind text not null,
  swept_at timestamptz not null,
  batch_limit integer not null,
  scanned_count integer not null,
  created_count integer not null,
  promoted_count integer not null,
  report_summary internal.canonical_object not null,
  prev_digest bytea,
  row_digest bytea not null,
  constraint sweep_trigger_is_known check (sweep_trigger_kind in ('manual', 'timer')),
  constraint sweep_chain_starts_at_one check ((prev_digest is null) = (sweep_seq = 1))
);
comment on table cutter_governance.decision_backlog_sweep_log is
  'One row a pass, also of a pass that found nothing: proof that the backlog is looked at. Each row carries the digest of the one before it.';

create table cutter_governance.manifest_envelope (
  envelope_id uuid primary key,
  operation_kind text not null,
  status text not null,
  source_doc_ref text not null,
  entry_id uuid not null references cutter_governance.decision_backlog_entry (entry_id),
  document_id text not null references iu.source_document (document_id),
  source_version_id uuid not null references iu.source_version (source_version_id),
  region_sha bytea not null,
  profile text not null,
  unit_kind text not null,
  publication_type text not null,
  unit_count integer not null,
  manifest_digest bytea not null,
  tool_revision text not null,
  created_by text not null,
  created_at timestamptz not null,
  reviewer text not null,
  reviewed_at timestamptz not null,
  rationale text,
  row_digest bytea not null,
  constraint manifest_operation_is_known check (operation_kind in ('first_cut', 'split', 'merge')),
  constraint manifest_status_is_known check (status in ('accepted', 'rejected', 'under_review')),
  constraint manifest_names_its_entry check (source_doc_ref = entry_id::text)
);
create index manifest_entry_idx on cutter_governance.manifest_envelope (entry_id);
comment on table cutter_governance.manifest_envelope is 'The plan of a cut, written with the decision on it.';

create table cutter_governance.manifest_unit_block (
  envelope_id uuid not null references cutter_governance.manifest_envelope (envelope_id),
  unit_local_id text not null,
  block_role text not null,
  render_order integer not null,
  span_start integer not null,
  span_end integer not null,
  region_sha bytea not null,
  proposed_canonical_address text not null,
  section_type text not null,
  title text not null,
  parent_local_id text,
  row_digest bytea not null,
  primary key (envelope_id, unit_local_id),
  constraint block_order_once unique (envelope_id, render_order),
  constraint block_address_once unique (envelope_id, proposed_canonical_address),
  constraint block_role_is_known check (block_role in ('origin', 'result')),
  constraint block_span_is_a_span check (span_start >= 0 and span_end > span_start),
  foreign key (envelope_id, parent_local_id) references cutter_governance.manifest_unit_block (envelope_id, unit_local_id)
);
comment on table cutter_governance.manifest_unit_block is 'One unit that the cut will make: where its bytes lie, what they hash to, and its address.';

create table cutter_governance.review_decision (
  review_decision_id uuid primary key,
  governance_event_kind text not null,
  entry_id uuid not null references cutter_governance.decision_backlog_entry (entry_id),
  manifest_id uuid not null references cutter_governance.manifest_envelope (envelope_id),
  manifest_unit_local_id text,
  manifest_version text not null,
  review_scope text not null,
  status text not null,
  verdict text not null,
  findings internal.canonical_object not null,
  reviewer_class text not null,
  reviewer_identity text not null references identity.principal (name),
  risk_class_assessment text not null,
  verdict_rationale text,
  prior_review_decision_id uuid references cutter_governance.review_decision (review_decision_id),
  superseded_by_review_decision_id uuid references cutter_governance.review_decision (review_decision_id) deferrable initially deferred,
  key_id uuid not null references identity.signing_key (key_id),
  decision_payload text not null,
  signature bytea not null,
  decision_at timestamptz not null,
  created_at timestamptz not null,
  row_digest bytea not null,
  foreign key (manifest_id, manifest_unit_local_id) references cutter_governance.manifest_unit_block (envelope_id, unit_local_id),
  constraint decision_event_is_known check (governance_event_kind in ('cut_review', 'lifecycle_enactment')),
  constraint decision_verdict_is_known check (verdict in ('approve', 'reject', 'defer')),
  constraint decision_risk_is_known check (risk_class_assessment in ('low', 'medium', 'high')),
  constraint decision_is_superseded_once unique (prior_review_decision_id, governance_event_kind)
);
create index decision_entry_idx on cutter_governance.review_decision (entry_id);
comment on table cutter_governance.review_decision is
  'What the review authority decided about a manifest, signed with its own key. A later decision supersedes it; the row stays.';
comment on column cutter_governance.review_decision.manifest_unit_local_id is 'Null: the decision is about the whole manifest.';

create table cutter_governance.dot_pair_signature (
  signature_id uuid primary key,
  signature_kind text not null,
  signer_dot_id text not null,
  signer_principal text not null references identity.principal (name),
  signer_tool_revision text not null,
  key_id uuid not null references identity.signing_key (key_id),
  payload_envelope text not null,
  signature_payload text not null,
  payload_hash bytea not null,
  signature bytea not null,
  cross_reference_change_set_id uuid,
  cross_reference_verify_result_id uuid,
  prior_signature_id uuid unique references cutter_governance.dot_pair_signature (signature_id),
  lane_seq bigint not null,
  signed_at timestamptz not null,
  recorded_at timestamptz not null,
  row_digest bytea not null,
  constraint signature_has_one_cross_reference check (num_nonnulls(cross_reference_change_set_id, cross_reference_verify_result_id) = 1),
  constraint signature_keeps_to_its_lane check (
    (signature_kind, signer_dot_id, cross_reference_change_set_id is not null)
      in (('executor', 'DOT-991', true), ('verifier', 'DOT-992', false))),
  constraint signature_hash_is_of_its_payload check (payload_hash = sha256(convert_to(signature_payload, 'UTF8'))),
  constraint signature_is_ed25519 check (octet_length(signature) = 64),
  constraint signature_chain_has_no_forks unique (signer_dot_id, signer_principal, lane_seq),
  constraint signature_chain_starts_at_one check ((prior_signature_id is null) = (lane_seq = 1))
);
comment on table cutter_governance.dot_pair_signature is
  'Attestations of the executor (DOT-991) and the verifier (DOT-992). Each signer''s signatures in a lane form one chain without forks.';

create table cutter_governance.cut_change_set (
  change_set_id uuid primary key,
  change_kind text not null,
  decision_backlog_entry_id uuid not null references cutter_governance.decision_backlog_entry (entry_id),
  manifest_id uuid not null references cutter_governance.manifest_envelope (envelope_id),
  manifest_version text not null,
  review_decision_id uuid not null references cutter_governance.review_decision (review_decision_id),
  executor_signature_id uuid references cutter_governance.dot_pair_signature (signature_id) deferrable initially deferred,
  verifier_signature_id uuid references cutter_governance.dot_pair_signature (signature_id),
  rollback_key text not null unique,
  rollback_of_change_set_id uuid references cutter_governance.cut_change_set (change_set_id),
  rollback_reason text,
  state text not null,
  affected_unit_count integer not null,
  writer_digest bytea not null,
  effect_digest bytea not null,
  change_set_digest bytea not null,
  payload_summary internal.canonical_object not null,
  executor_tool_revision text not null,
  verifier_tool_revision text not null,
  emitted_by text not null,
  emitted_at timestamptz not null,
  row_digest bytea not null,
  constraint change_kind_is_known check (change_kind in ('apply', 'compensate')),
  constraint change_set_is_committed check (state = 'committed'),
  -- OD-6: the verifier's signature lives on verify_result only.
  constraint change_set_has_no_verifier check (verifier_signature_id is null),
  constraint applied_set_is_signed check ((change_kind = 'apply') = (executor_signature_id is not null)),
  constraint compensation_names_its_set check ((change_kind = 'compensate') = (rollback_of_change_set_id is not null))
);
create unique index change_set_once_a_decision on cutter_governance.cut_change_set (decision_backlog_entry_id, review_decision_id)
  where change_kind = 'apply';
create index change_set_entry_idx on cutter_governance.cut_change_set (decision_backlog_entry_id);
create unique index change_set_is_compensated_once on cutter_governance.cut_change_set (rollback_of_change_set_id);
alter table cutter_governance.dot_pair_signature add foreign key (cross_reference_change_set_id)
  references cutter_governance.cut_change_set (change_set_id) deferrable initially deferred;
comment on table cutter_governance.cut_change_set is 'What a cut, or its compensation, changed: the header that the executor signed.';

create table cutter_governance.cut_change_set_affected_row (
  affected_row_id uuid primary key,
  change_set_id uuid not null references cutter_governance.cut_change_set (change_set_id) deferrable initially deferred,
  render_order integer not null,
  target_table text not null,
  target_row_id uuid not null,
  operation_kind text not null,
  before_state_snapshot internal.canonical_object,
  after_state_snapshot internal.canonical_object,
  lifecycle_digest bytea not null,
  row_digest bytea not null,
  constraint affected_order_once unique (change_set_id, render_order),
  constraint affected_operation_is_known check (operation_kind in ('insert', 'retire'))
);
create index affected_row_target_idx on cutter_governance.cut_change_set_affected_row (target_row_id);
comment on table cutter_governance.cut_change_set_affected_row is 'One row that a cut touched, as it was and as it became; what VERIFY compares.';
comment on column cutter_governance.cut_change_set_affected_row.lifecycle_digest is
  'The digest of the unit''s row in iu_lifecycle_log: so the unit and its text stand in the log row of the cut as well.';

create table cutter_governance.verify_result (
  verify_result_id uuid primary key,
  change_set_id uuid not null references cutter_governance.cut_change_set (change_set_id),
  manifest_id uuid not null references cutter_governance.manifest_envelope (envelope_id),
  manifest_version text not null,
  review_decision_id uuid not null references cutter_governance.review_decision (review_decision_id),
  executor_signature_id uuid not null references cutter_governance.dot_pair_signature (signature_id),
  verifier_signature_id uuid not null references cutter_governance.dot_pair_signature (signature_id) deferrable initially deferred,
  executor_tool_revision text not null,
  verifier_tool_revision text not null,
  tool_revision_match boolean not null,
  verify_kind text not null,
  axis_1_status text not null,
  axis_2_status text not null,
  verdict text not null,
  state text not null,
  canonicalization_rule_used text not null,
  findings internal.canonical_object not null,
  rollback_change_set_id_triggered uuid references cutter_governance.cut_change_set (change_set_id),
  escalation_ref uuid references cutter_governance.decision_backlog_entry (entry_id),
  prior_verify_result_id uuid unique references cutter_governance.verify_result (verify_result_id),
  verify_digest bytea not null,
  verified_by text not null references identity.principal (name),
  verified_at timestamptz not null,
  row_digest bytea not null,
  constraint verify_verdict_is_known check (verdict in ('pass', 'fail')),
  constraint failure_is_escalated check ((verdict = 'fail') = (escalation_ref is not null))
);
create index verify_result_change_set_idx on cutter_governance.verify_result (change_set_id);
create unique index verify_result_first_once on cutter_governance.verify_result (change_set_id) where prior_verify_result_id is null;
alter table cutter_governance.dot_pair_signature add foreign key (cross_reference_verify_result_id)
  references cutter_governance.verify_result (verify_result_id) deferrable initially deferred;
comment on table cutter_governance.verify_result is 'What an independent verifier found about a change set, signed in its own lane.';

create table cutter_governance.canonical_address_alias (
  alias_id uuid primary key,
  target_unit_id uuid not null,
  alias_text text not null,
  alias_kind text not null,
  valid_from timestamptz,
  valid_until timestamptz,
  created_by text not null,
  rationale text,
  scenario_ref text
);
comment on table cutter_governance.canonical_address_alias is 'Reserved (OD-2): nothing reads or writes it, and no role has a right on it.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('cutter_governance.decision_backlog_entry', '{status,facet,seq,head_hash,last_transition_at}', 'requests as they were marked; the rest is the log''s'),
  ('cutter_governance.decision_backlog_dependency', '{}', 'what requests wait for'),
  ('cutter_governance.decision_backlog_sweep_log', '{}', 'passes over the backlog'),
  ('cutter_governance.manifest_envelope', '{}', 'plans'),
  ('cutter_governance.manifest_unit_block', '{}', 'units of plans'),
  ('cutter_governance.review_decision', '{superseded_by_review_decision_id}', 'decisions; the stamp is the prior_ of the next one'),
  ('cutter_governance.dot_pair_signature', '{}', 'attestations'),
  ('cutter_governance.cut_change_set', '{}', 'change sets'),
  ('cutter_governance.cut_change_set_affected_row', '{}', 'rows that change sets touched'),
  ('cutter_governance.verify_result', '{}', 'results of verification');

alter table fsm.run_kind_def add column moved_by_its_room boolean not null default false;
comment on column fsm.run_kind_def.moved_by_its_room is
  'Runs of this kind move through the doors of their room, which write the artefacts of a move, and not through the general door.';
insert into fsm.run_kind_def (run_kind, scope, table_name, id_column, state_column, parent_column, facts_expression, moved_by_its_room) values
  ('cut_request', 'cut_request', 'cutter_governance.decision_backlog_entry', 'entry_id', 'status', 'escalation_of', 'r.payload::jsonb', true);

insert into fsm.lock_target_def (target, lock_fn, description) values
  ('review_decision', 'cutter_governance.lock_review_decision', 'The decisions on a request, so that none is superseded meanwhile.'),
  ('dependencies', 'cutter_governance.lock_dependencies', 'The requests that a request waits for, in the order of their ids.'),
  ('change_set', 'cutter_governance.lock_change_set', 'The change sets of a request.');

insert into config.dot_config (key, value, description) values
  ('cutter.signature.max_skew_seconds', '300', 'A signature''s own time lies this close to the database''s.'),
  ('cutter.sweep.max_batch', '1000', 'A pass of the sweep promotes at most this many requests.'),
  ('cutter.manifest.max_units', '20000', 'A manifest has at most this many units.'),
  ('cutter.retry.max_attempts', '3', 'A phase that fails for a passing reason is tried this often before it is escalated.'),
  ('cutter.retry.backoff_ms', '100', 'The first pause between two attempts; each further one is twice as long.');
