-- Locks nothing of yours: makes the tables of findings, heartbeats, lag and pending events.
create table governance.system_issues (
  issue_id uuid primary key,
  fingerprint bytea not null,
  issue_type text not null,
  issue_class text not null,
  source_system text not null,
  severity text not null,
  title text not null,
  description text,
  entity_type text,
  entity_code text,
  evidence jsonb not null,
  occurrence_count bigint not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  state text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint issue_type_is_a_word check (issue_type ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint issue_class_is_known check (issue_class in (
    'dlq', 'silent_worker', 'overdue_step', 'schema_violation', 'event_lag', 'integrity', 'failed_cut', 'orphan_workflow', 'operation')),
  constraint issue_severity_is_known check (severity in ('critical', 'warning', 'info')),
  constraint issue_title_is_not_blank check (btrim(title) <> ''),
  constraint issue_source_is_not_blank check (btrim(source_system) <> ''),
  constraint issue_entity_is_whole check ((entity_type is null) = (entity_code is null)),
  constraint issue_evidence_is_object check (jsonb_typeof(evidence) = 'object'),
  constraint issue_occurs check (occurrence_count >= 1 and last_seen_at >= first_seen_at),
  constraint issue_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint issue_trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$' and trace_id !~ '^0{32}$')
) with (fillfactor = 70);
-- One open finding a fingerprint: whoever finds the same again adds to its count.
create unique index issue_one_open_a_fingerprint on governance.system_issues (fingerprint) where state in ('open', 'acknowledged');
create index issue_open_by_class_idx on governance.system_issues (issue_class, first_seen_at) where state in ('open', 'acknowledged');
comment on table governance.system_issues is
  'Findings: problems that somebody has to look at. Opened, acknowledged and closed by moves, so each has its event; the same problem found again is counted.';
comment on column governance.system_issues.evidence is 'Of the newest occurrence. That of the first stands in the log row of the birth.';
comment on column governance.system_issues.severity is 'The worst that was reported while it was open.';

create table governance.issue_report (
  idempotency_key text primary key,
  issue_id uuid not null references governance.system_issues (issue_id),
  request_digest bytea not null,
  reported_by text not null,
  reported_at timestamptz not null,
  constraint issue_report_key_is_not_blank check (btrim(idempotency_key) <> '' and octet_length(idempotency_key) <= 200)
);
comment on table governance.issue_report is 'Which report a key stands for: a report that is sent twice counts once.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('governance.system_issues', '{severity,evidence,occurrence_count,last_seen_at,state,facet,seq,head_hash,last_transition_at}',
   'findings as they were opened; the state is the log''s, the count is what was reported since');
insert into fsm.run_kind_def (run_kind, scope, table_name, id_column, state_column, parent_column, facts_expression, moved_by_its_room) values
  ('finding', 'finding', 'governance.system_issues', 'issue_id', 'state', null,
   'jsonb_build_object(''issue_type'', r.issue_type, ''issue_class'', r.issue_class, ''entity_type'', r.entity_type, ''entity_code'', r.entity_code)', true);

create table queue.queue_heartbeat (
  worker_class text not null,
  worker text not null,
  executor_kind text not null,
  status text not null,
  last_tick_at timestamptz not null,
  last_ok_at timestamptz,
  silent_since timestamptz,
  issue_id uuid references governance.system_issues (issue_id),
  ticks_total bigint not null,
  metadata jsonb not null,
  registered_at timestamptz not null,
  primary key (worker_class, worker),
  constraint heartbeat_class_is_a_word check (worker_class ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint heartbeat_worker_is_named check (btrim(worker) <> '' and octet_length(worker) <= 200),
  constraint heartbeat_executor_kind_is_known check (executor_kind in
    ('DOT', 'Agent', 'Hermes', 'Codex', 'PG_worker', 'external_worker', 'future_Kestra_adapter')),
  constraint heartbeat_status_is_known check (status in ('ok', 'warn', 'silent')),
  constraint heartbeat_ok_was_ok check (status <> 'ok' or last_ok_at is not null),
  constraint heartbeat_silent_iff_found check ((status = 'silent') = (issue_id is not null) and (status = 'silent') = (silent_since is not null)),
  constraint heartbeat_metadata_is_object check (jsonb_typeof(metadata) = 'object')
-- A tick writes the row's next version beside the first one and touches no index.
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table queue.queue_heartbeat is 'One row a worker or loop: when it last said something, and whether that was well.';
comment on column queue.queue_heartbeat.issue_id is 'The finding about its silence. It is closed as recovered in the transaction that makes the worker ok again.';

create table queue.heartbeat_class (
  worker_class text primary key,
  frozen boolean not null,
  reason text not null,
  changed_by text not null references identity.principal (name),
  changed_at timestamptz not null,
  constraint heartbeat_freeze_says_why check (btrim(reason) <> '')
);
comment on table queue.heartbeat_class is 'Classes that a person froze. A silent worker of a frozen class stays silent, whatever it says.';

create table queue.heartbeat_series (
  at timestamptz not null,
  worker_class text not null,
  worker text not null,
  from_status text,
  to_status text,
  issue_id uuid,
  principal text not null
) partition by range (at);
create table queue.heartbeat_series_default partition of queue.heartbeat_series default;
create index heartbeat_series_worker_idx on queue.heartbeat_series (worker_class, worker, at);
comment on table queue.heartbeat_series is 'Changes of a worker''s status, by day, as long as the retention says. Ticks that change nothing leave no row.';
comment on column queue.heartbeat_series.to_status is 'Null: the worker left in good order, or its finding was closed by a person.';

create table event.consumer_delivery (
  xid xid8 not null default pg_current_xact_id(),
  consumer text not null,
  position bigint not null,
  event_id uuid not null,
  producer text not null,
  event_at timestamptz not null,
  delivered_at timestamptz not null
) partition by range (delivered_at);
create table event.consumer_delivery_default partition of event.consumer_delivery default;
-- The recorder looks for what its last snapshot could not see; xids only grow, so inserts stay on the right edge.
create index consumer_delivery_unrecorded_idx on event.consumer_delivery (xid);
comment on table event.consumer_delivery is 'When a durable consumer had an event: raw samples, by day, folded into event_lag_series.';

create table event.event_lag_series (
  minute timestamptz not null,
  producer text not null,
  consumer text not null,
  recorded_at timestamptz not null,
  count bigint not null,
  max_ms double precision not null,
  buckets integer[] not null,
  counts bigint[] not null,
  constraint lag_minute_is_whole check (extract(second from minute) = 0),
  constraint lag_counts_add_up check (cardinality(buckets) = cardinality(counts) and cardinality(buckets) > 0 and count > 0)
) partition by range (minute);
create table event.event_lag_series_default partition of event.event_lag_series default;
create index event_lag_series_minute_idx on event.event_lag_series (minute);
comment on table event.event_lag_series is
  'Lag by minute and pair as a mergeable histogram: buckets grow by a constant factor, so every percentile of every window is within half a percent.';

create table event.lag_cursor (
  only_one boolean primary key default true,
  last_position bigint not null,
  seen_snapshot pg_snapshot not null,
  system_identifier bigint not null,
  constraint lag_cursor_has_one_row check (only_one)
);
comment on table event.lag_cursor is 'How far the samples are folded: positions up to a number, deliveries as far as the last pass could see.';
insert into event.lag_cursor (last_position, seen_snapshot, system_identifier) values (0, '1:1:', 0);

create table event.event_pending (
  pending_id uuid primary key,
  event_type text not null,
  subject_kind text not null,
  subject_id uuid not null,
  to_state text not null,
  actor_class text not null,
  trigger_kind text not null,
  trigger_ref text not null,
  principal text not null,
  evidence jsonb not null,
  idempotency_key text not null,
  reason text not null,
  state text not null,
  attempts integer not null,
  next_attempt_at timestamptz not null,
  last_problems jsonb,
  emitted_event_id uuid,
  issue_id uuid references governance.system_issues (issue_id),
  captured_at timestamptz not null,
  settled_at timestamptz,
  constraint pending_one_a_move unique (subject_id, idempotency_key),
  constraint pending_state_is_known check (state in ('pending', 'emitted', 'dead')),
  constraint pending_settled_iff_over check ((state = 'pending') = (settled_at is null)),
  constraint pending_emitted_iff_event check ((state = 'emitted') = (emitted_event_id is not null)),
  constraint pending_dead_iff_found check ((state = 'dead') = (issue_id is not null)),
  constraint pending_says_why check (btrim(reason) <> '')
) with (fillfactor = 80);
create index event_pending_due_idx on event.event_pending (next_attempt_at) where state = 'pending';
comment on table event.event_pending is
  'Events that could not be emitted: the move that would have done it, to be tried again. An event is the shadow of a move, so there is nothing else to emit.';

insert into config.dot_config (key, value, description) values
  ('finding.evidence.max_bytes', '8192', 'Evidence of a finding names things; it does not contain them.'),
  ('heartbeat.threshold.default', '60', 'A worker that says nothing for so many seconds is silent. Per class: heartbeat.threshold.CLASS.'),
  ('heartbeat.metadata.max_bytes', '2048', 'What a worker may say about itself with a tick.'),
  ('event_lag.threshold.p50', '1000', 'Half of the events arrive within so many milliseconds. Per pair: event_lag.threshold.PRODUCER.CONSUMER.p50.'),
  ('event_lag.threshold.p95', '5000', 'As p50, for 95 of 100 events.'),
  ('event_lag.threshold.p99', '15000', 'As p50, for 99 of 100 events.'),
  ('event_lag.window_seconds', '300', 'The lag of so many seconds is compared with the thresholds.'),
  ('event_pending.max_attempts', '8', 'An event that cannot be emitted is tried so often, then it is a finding.'),
  ('event_pending.base_delay_seconds', '5', 'The pause after the first failed try; it doubles each time, up to an hour.');

update config.dot_config
   set value = value || '["governance.system_issues","governance.issue_report","queue.queue_heartbeat","queue.heartbeat_class","queue.heartbeat_series",
                          "queue.heartbeat_series_*","event.consumer_delivery","event.consumer_delivery_*","event.event_lag_series","event.event_lag_series_*",
                          "event.lag_cursor","event.event_pending"]'
 where key = 'orchestrator.backup.tables';
