-- Every change of a rule row is on record, whoever makes it: what stands in the table can be compared with what was written there.
create table audit.rule_change (
  rule_change_id bigint generated always as identity primary key,
  at timestamptz not null,
  login_role text not null,
  via text not null,
  table_name text not null,
  row_key text not null,
  columns text[] not null,
  row_value jsonb,
  value_digest bytea,
  constraint rule_change_has_a_value_or_is_a_deletion check ((row_value is null) = (value_digest is null))
);
create index rule_change_of_row_idx on audit.rule_change (table_name, row_key, rule_change_id desc);
comment on table audit.rule_change is 'Append-only history of the rows that rules are made of. The newest entry of a row says how it must look now.';
comment on column audit.rule_change.via is
  'The function of ours that wrote the row; release, while a release is applied; hand, for a statement that somebody typed.';
comment on column audit.rule_change.columns is 'What the digest is over: a column that a later release adds leaves older entries valid.';

-- Which tables are rules, which columns name a row, and whether an owner may change a row by hand.
create table audit.rule_table (
  table_name text primary key,
  key_columns text[] not null,
  by_hand boolean not null default false
);
comment on table audit.rule_table is 'Tables whose rows are rules: their changes are kept in audit.rule_change.';
insert into audit.rule_table (table_name, key_columns, by_hand) values
  ('config.dot_config', '{key}', true),
  ('approval.quorum_rule', '{risk}', false),
  ('approval.approval_kind', '{kind}', false),
  ('identity.actor_class', '{code}', false),
  ('identity.login_actor_class', '{login_role,actor_class}', false),
  ('identity.permission', '{permission}', false),
  ('identity.class_permission', '{actor_class,permission}', false),
  ('audit.evidence_def', '{table_name}', false),
  ('audit.evidence_version', '{table_name,version}', false),
  ('audit.rule_table', '{table_name}', false),
  ('config.partitioned_table', '{table_name}', false),
  ('event.event_type_registry', '{event_type}', false),
  ('fsm.guard_def', '{guard_id}', false),
  ('fsm.guard_need', '{guard_name,trigger_ref}', false),
  ('fsm.lock_target_def', '{target}', false),
  ('fsm.run_kind_def', '{run_kind}', false),
  ('fsm.state_machine_def', '{state_machine_id}', false),
  ('fsm.state_def', '{state_machine_id,state_code}', false),
  ('fsm.state_facet_def', '{state_machine_id,state_code,facet_code}', false),
  ('fsm.transition_def', '{transition_id}', false),
  ('fsm.rollup_policy_def', '{state_machine_id,policy_code}', false),
  ('fsm.invariant_def', '{state_machine_id,invariant_id}', false),
  ('iu.dot_iu_command_catalog', '{command_name}', false),
  ('workflow.failure_class_registry', '{failure_class}', false);

-- A difference between the database and its release that an operator knows of and takes upon themselves, for a time.
create table audit.drift_acknowledgement (
  acknowledgement_id uuid primary key,
  object text not null,
  found text not null,
  reason text not null,
  acknowledged_by text not null references identity.principal (name),
  login_role text not null,
  acknowledged_at timestamptz not null,
  expires_at timestamptz not null,
  constraint drift_acknowledgement_has_a_reason check (btrim(reason) <> ''),
  constraint drift_acknowledgement_ends check (expires_at > acknowledged_at)
);
create index drift_acknowledgement_of_object_idx on audit.drift_acknowledgement (object, found);
comment on column audit.drift_acknowledgement.found is 'The digest of what was found: if the object changes again, the acknowledgement does not cover it.';

update config.dot_config set value = value || '["audit.drift_acknowledgement"]' where key = 'orchestrator.backup.tables';

insert into config.dot_config (key, value, description) values
  ('drift.acknowledge.max_hours', '168', 'How long, in hours, a difference between the database and its release may be acknowledged for.'),
  ('drift.check_seconds', '60', 'How often, in seconds, a host compares the rules in the database with its release.');
