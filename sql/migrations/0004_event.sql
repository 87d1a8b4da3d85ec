create table event.event_type_registry (
  event_type text primary key,
  event_domain text not null,
  event_stream text not null,
  delivery_lane text not null,
  default_severity text not null default 'info',
  description text not null,
  payload_schema jsonb not null,
  active boolean not null default true,
  created_at timestamptz not null,
  constraint event_type_is_dotted check (event_type ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$'),
  constraint event_domain_is_first_part check (event_domain = split_part(event_type, '.', 1)),
  constraint event_stream_is_known check (event_stream in ('comment', 'review', 'update', 'birth', 'task', 'alert', 'health')),
  constraint delivery_lane_is_known check (delivery_lane in ('immediate', 'delayed')),
  constraint event_severity_is_known check (default_severity in ('info', 'warning', 'critical'))
);
comment on table event.event_type_registry is 'Register before emit: an event whose type does not stand here, active, cannot be written.';

-- Partitioned by day from the start, so that retention drops partitions instead of deleting rows.
create table event.event_outbox (
  outbox_id bigint not null generated always as identity,
  event_id uuid not null,
  xid xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null,
  event_type text not null,
  subject_kind text not null,
  subject_id uuid not null,
  subject_seq bigint not null,
  principal text not null,
  trace_id text not null,
  correlation_id text not null,
  payload jsonb not null
) partition by range (created_at);
comment on table event.event_outbox is
  'Written in the transaction of the move. Readers use event_position, never this table''s own order.';
-- The sequencer looks for what its last snapshot could not see, and a position finds its event by the same key; xids only
-- grow, so inserts stay on the right edge.
create index event_outbox_unsequenced_idx on event.event_outbox (xid, outbox_id);

-- Catches what falls outside the daily partitions, so that no move fails for want of one.
create table event.event_outbox_default partition of event.event_outbox default;

create table event.event_position (
  position bigint not null,
  event_id uuid not null,
  xid xid8 not null,
  outbox_id bigint not null,
  event_created_at timestamptz not null,
  stamped_at timestamptz not null,
  primary key (position)
) partition by range (position);
comment on table event.event_position is
  'Dense positions in an order that keeps cause before effect. Insert-only; consumers, SSE and lag read by position alone.';

-- One event, one position, across all partitions of both tables: a plain table with a plain key.
create table event.event_sequenced (
  event_id uuid primary key,
  position bigint not null
);
comment on table event.event_sequenced is 'Which events have a position: the second lock against stamping one twice.';

create table event.sequencer_cursor (
  only_one boolean primary key default true,
  last_position bigint not null,
  seen_snapshot pg_snapshot not null,
  system_identifier bigint not null,
  constraint sequencer_cursor_has_one_row check (only_one)
);
comment on table event.sequencer_cursor is
  'What the last pass could see. Snapshots do not survive a move to another cluster, hence the identifier.';

create table event.event_validation_audit (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null,
  login_role text not null,
  event_type text not null,
  code text not null references config.refusal (code),
  facts jsonb not null
);
comment on table event.event_validation_audit is 'Refused events, recorded by the refused caller: a raised error rolls back whatever stood beside it.';
