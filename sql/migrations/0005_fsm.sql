create table fsm.state_machine_def (
  state_machine_id text primary key,
  scope text not null,
  name text not null,
  version text not null,
  active boolean not null default false,
  description text not null,
  initial_state text not null,
  definition jsonb not null,
  definition_sha256 text not null,
  applied_by text not null,
  created_at timestamptz not null,
  constraint machine_id_is_name_and_version check (state_machine_id = name || '@' || version),
  constraint machine_scope_is_known check
    (scope in ('step', 'task', 'workflow_run', 'cut_request', 'orchestrator_run', 'birth_permit', 'custom')),
  constraint machine_version_is_semver check (version ~ '^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$'),
  -- Texts of the product stand under these names.
  constraint machine_name_is_free check (name not in ('state', 'facet'))
);
create unique index machine_one_active_version_idx on fsm.state_machine_def (scope, name) where active;
comment on table fsm.state_machine_def is 'Machines are data: one row a version. Runs stay on the version they started with.';

create table fsm.state_def (
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  state_code text not null,
  semantic_class text not null,
  is_terminal boolean not null,
  ordinal integer not null,
  ui_color_token text not null,
  ui_icon_token text not null,
  ui_label_i18n_key text not null,
  ui_short_message_key text not null,
  is_derived boolean not null,
  floor_equivalent text,
  derived_justification text,
  is_conceptual boolean not null,
  primary key (state_machine_id, state_code),
  constraint state_class_is_known check (semantic_class in ('idle', 'active', 'wait', 'red', 'terminal')),
  constraint derived_state_is_justified check
    (not is_derived or (floor_equivalent is not null and btrim(derived_justification) <> ''))
);
comment on column fsm.state_def.is_conceptual is 'Passed inside a transaction, never stored: no transition row may lead to it.';

create table fsm.state_facet_def (
  state_machine_id text not null,
  state_code text not null,
  facet_code text not null,
  ui_icon_token text not null,
  ui_label_i18n_key text not null,
  primary_ordinal integer not null,
  primary key (state_machine_id, state_code, facet_code),
  unique (state_machine_id, state_code, primary_ordinal),
  foreign key (state_machine_id, state_code) references fsm.state_def
);

create table fsm.guard_def (
  guard_id text primary key,
  guard_name text not null,
  guard_kind text not null,
  rule jsonpath,
  predicate_fn text,
  reads text[] not null default '{}',
  description text not null,
  registered_at timestamptz not null,
  constraint guard_kind_is_known check (guard_kind in ('config', 'predicate_fn')),
  constraint config_guard_has_a_rule check ((guard_kind = 'config') = (rule is not null)),
  constraint predicate_guard_has_a_function check ((guard_kind = 'predicate_fn') = (predicate_fn is not null))
);
comment on table fsm.guard_def is
  'Registered guards. A machine''s own guards are "<machine>@<version>/<name>"; a room''s are registered under their bare name.';
comment on column fsm.guard_def.reads is 'What the guard reads besides its run; apply locks it before the guard is asked.';

create table fsm.lock_target_def (
  target text primary key,
  lock_fn text not null,
  description text not null
);
comment on table fsm.lock_target_def is
  'What the guards of rooms can declare to read, and the function (run_kind text, run_id uuid) that locks it.';

create table fsm.transition_def (
  transition_id text not null unique,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  label text not null,
  from_state text,
  to_state text not null,
  actor_class text not null references identity.actor_class (code),
  trigger_kind text not null,
  trigger_ref text not null,
  guard_kind text,
  guard_ref text,
  guard_ids text[] not null,
  reads text[] not null default '{}',
  needs_facet boolean not null,
  emitted_event_type text references event.event_type_registry (event_type),
  audit_required boolean not null,
  rollback_to text,
  via_state text,
  proposed boolean not null default false,
  login_roles text[] not null default '{}',
  config_rules jsonpath[] not null default '{}',
  config_rule jsonpath,
  event_active boolean not null default false,
  needs_payload boolean not null default false,
  needs_nothing_more boolean not null generated always as (
    not audit_required and not needs_facet and not proposed and not needs_payload
    and (emitted_event_type is null or event_active)) stored,
  constraint transition_one_row_per_actor unique nulls not distinct (state_machine_id, from_state, to_state, actor_class),
  foreign key (state_machine_id, from_state) references fsm.state_def,
  foreign key (state_machine_id, to_state) references fsm.state_def,
  foreign key (state_machine_id, rollback_to) references fsm.state_def,
  foreign key (state_machine_id, via_state) references fsm.state_def,
  constraint trigger_kind_is_known check (trigger_kind in ('event', 'rpc', 'timer', 'condition_resolved')),
  constraint transition_guard_pair check ((guard_kind is null) = (guard_ref is null))
);
comment on column fsm.transition_def.from_state is 'Null is the birth of a run: the row that puts it into its initial state.';
comment on column fsm.transition_def.guard_ref is 'Names of the guards, for people; the engine uses guard_ids.';
comment on column fsm.transition_def.login_roles is
  'Compiled, like reads and the three columns after it, by fsm.compile_transitions from login_actor_class, guard_def and event_type_registry: every move reads one row here instead of one in each of them.';
comment on column fsm.transition_def.config_rule is 'All config rules as one, where there are no others and none reads beyond the run: asked first, since it is mostly true.';
comment on column fsm.transition_def.needs_nothing_more is 'Nothing but guards, trigger and actor stands between a request and this move.';
comment on column fsm.transition_def.needs_facet is 'The target state has facets, so one of them must come with the move.';

create table fsm.rollup_policy_def (
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  policy_code text not null,
  policy_config_jsonb jsonb not null,
  active boolean not null,
  primary key (state_machine_id, policy_code)
);

create table fsm.invariant_def (
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  invariant_id text not null,
  why text not null,
  rule jsonb not null,
  primary key (state_machine_id, invariant_id)
);
comment on table fsm.invariant_def is 'What the checker proved over the whole graph before the machine was stored.';

create table fsm.run_kind_def (
  run_kind text primary key,
  scope text not null,
  table_name text not null,
  id_column text not null,
  state_column text not null,
  parent_column text,
  facts_expression text not null,
  constraint run_kind_is_a_word check (run_kind ~ '^[a-z][a-z0-9_]*$')
);
comment on table fsm.run_kind_def is
  'Where the runs of each kind live. The dispatcher functions are generated from these rows when a release is applied.';
comment on column fsm.run_kind_def.facts_expression is 'SQL expression over the row "r" giving the jsonb that guards see as $.run.data.';

create table fsm.run (
  run_id uuid primary key,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  state_code text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  parent_run_id uuid references fsm.run (run_id),
  data jsonb not null,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  constraint run_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint run_trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$' and trace_id !~ '^0{32}$'),
  constraint run_data_is_object check (jsonb_typeof(data) = 'object')
) with (fillfactor = 85);
create index run_children_idx on fsm.run (parent_run_id) where parent_run_id is not null;
-- Deliberately no foreign key from state_code to state_def: its check would lock the same few state rows in every
-- move of every client. The log row names a transition_def row, which has the key, and the constraint trigger holds
-- state and log equal.
comment on table fsm.run is 'Runs of custom machines. Rooms bring their own tables and plug them in by run kind.';

insert into fsm.run_kind_def values ('custom', 'custom', 'fsm.run', 'run_id', 'state_code', 'parent_run_id', 'r.data');

create table fsm.transition_log (
  run_id uuid not null,
  seq bigint not null,
  log_id uuid not null,
  run_kind text not null,
  state_machine_id text not null,
  transition_id text not null,
  from_state text,
  to_state text not null,
  facet text,
  principal text not null,
  actor_class text not null,
  trigger_kind text not null,
  trigger_ref text not null,
  reason text,
  evidence text not null,
  event_type text,
  artefact_digest bytea,
  idempotency_key text not null,
  key_id uuid,
  signature bytea,
  at timestamptz not null,
  prev_hash bytea,
  hash bytea not null,
  primary key (run_id, seq),
  constraint log_key_used_once_a_run unique (run_id, idempotency_key),
  constraint log_chain_starts_at_one check ((prev_hash is null) = (seq = 1)),
  constraint log_seq_is_positive check (seq >= 1),
  constraint log_artefact_digest_is_sha256 check (octet_length(artefact_digest) = 32),
  constraint log_signature_names_its_key check ((key_id is null) = (signature is null))
);
comment on table fsm.transition_log is
  'Every move of every machine, chained by SHA-256 within its run. Append-only for everyone.';
comment on column fsm.transition_log.evidence is 'RFC 8785 canonical bytes: the hash is over what is stored, never over re-rendered JSON.';
-- Deliberately no foreign keys: the rows they would lock (a machine, a principal) are the same for every writer.

-- What the engine knows of a run of any kind; filled by the generated dispatcher.
create type fsm.run_row as (
  state_machine_id text,
  state_code text,
  seq bigint,
  head_hash bytea,
  parent_run_id uuid,
  started_by text,
  trace_id text,
  correlation_id text,
  facts jsonb
);

-- The one rule evaluation, as both preview and apply see it.
create type fsm.verdict as (
  transition_id text,
  from_state text,
  event_type text,
  payload jsonb,
  facet text,
  reads text[],
  problems jsonb
);
