-- Locks event.event_sequenced while its rows move into partitions: some seconds for millions of them.
create table config.partitioned_table (
  table_name text primary key,
  key_kind text not null,
  description text not null,
  constraint partition_key_kind_is_known check (key_kind in ('day', 'uuid_day', 'million'))
);
comment on table config.partitioned_table is
  'Tables that lie in partitions by time. event.fn_ensure_partitions makes the next ones, event.fn_retention_apply drops the old ones. Evidence never stands here.';
insert into config.partitioned_table (table_name, key_kind, description) values
  ('event.event_outbox', 'day', 'events, by the day they were written'),
  ('event.event_sequenced', 'uuid_day', 'which events have a position, by the day in their id'),
  ('event.event_position', 'million', 'positions, a million each'),
  ('queue.job_finished', 'day', 'jobs that were done, by day'),
  ('queue.heartbeat_series', 'day', 'when workers fell silent and came back'),
  ('event.consumer_delivery', 'day', 'when consumers had which event, for the lag'),
  ('event.event_lag_series', 'day', 'the lag of each pair, by the minute');

insert into config.dot_config (key, value, description) values
  ('retention.days.event.event_outbox', '30', 'Events are kept so many days, and longer while a durable consumer has not had them. The log keeps the moves for good.'),
  ('retention.days.event.event_sequenced', '30', 'Goes with the outbox of the same day.'),
  ('retention.days.event.event_position', '31', 'Goes after the outbox of its days.'),
  ('retention.days.queue.job_finished', '14', 'Finished jobs, and with them their keys, are known so many days.'),
  ('retention.days.queue.heartbeat_series', '90', 'The story of silences.'),
  ('retention.days.event.consumer_delivery', '2', 'What the lag is computed from; the series keeps the result.'),
  ('retention.days.event.event_lag_series', '90', 'The trend of the lag.'),
  ('retention.consumer_max_days', '90', 'A consumer that is further behind than this no longer holds events back.');

-- One event, one position, across all partitions: the id is the key and, since it begins with its time, the partition's as well.
alter table event.event_sequenced rename to event_sequenced_old;
alter table event.event_sequenced_old rename constraint event_sequenced_pkey to event_sequenced_old_pkey;
create table event.event_sequenced (
  event_id uuid primary key,
  position bigint not null
) partition by range (event_id);
create table event.event_sequenced_default partition of event.event_sequenced default;
insert into event.event_sequenced (event_id, position) select o.event_id, o.position from event.event_sequenced_old o;
drop table event.event_sequenced_old;
comment on table event.event_sequenced is 'Which events have a position: the second lock against stamping one twice.';

update config.dot_config set value = value || '["event.event_sequenced_*"]' where key = 'orchestrator.backup.tables';
