-- Locks nothing of yours: makes two new tables in the room of events and adds them to what a run backs up.

create table event.event_consumer (
  consumer text primary key,
  kind text not null,
  target text not null,
  position bigint not null,
  reached bigint not null,
  registered_by text not null references identity.principal (name),
  registered_at timestamptz not null,
  advanced_at timestamptz,
  description text not null,
  constraint event_consumer_name_is_plain check (consumer ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint event_consumer_kind_is_known check (kind in ('relay', 'receiver')),
  constraint event_consumer_target_is_short check (target ~ '^[[:graph:]]{1,200}$'),
  constraint event_consumer_reaches_forward check (position >= 0 and reached >= position)
) with (fillfactor = 70);
comment on table event.event_consumer is
  'How far a durable consumer has come. A relay hands on what it reads; a receiver takes what a broker brings.';
comment on column event.event_consumer.target is
  'What the position is about: a relay that was pointed at another stream would leave out everything before it.';
comment on column event.event_consumer.position is 'Everything up to here was handed on, or received.';
comment on column event.event_consumer.reached is 'The highest position that was handed on, or received.';

-- Only what lies above an unbroken row of positions: a consumer that gets everything in order has no row here at all.
create table event.event_receipt (
  consumer text not null references event.event_consumer (consumer),
  position bigint not null,
  event_id uuid not null,
  received_at timestamptz not null,
  primary key (consumer, position)
);
comment on table event.event_receipt is
  'Which events above its position a receiver has already got. Bounded for each receiver by event.receipt.window.';

insert into config.dot_config (key, value, description) values
  ('event.receipt.window', '1000000',
   'So many positions below the highest one that it got, a receiver still knows each event; an older one counts as forgotten.');
update config.dot_config set value = value || '["event.event_consumer", "event.event_receipt"]' where key = 'orchestrator.backup.tables';
