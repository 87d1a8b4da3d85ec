-- Who wants to be alone at something that no row stands for yet takes the turn of its name.
create table queue.turn (
  name text primary key
);
comment on table queue.turn is 'Row locks by name (internal.take_turn): no login can take one but through a door.';

-- The latest time that the loops saw on the clock of the database.
create table governance.clock_mark (
  only_one boolean primary key default true,
  at timestamptz not null,
  constraint clock_mark_is_one_row check (only_one)
);
comment on table governance.clock_mark is 'Never goes back, so that a clock that does is noticed (governance.watch_clock).';

insert into config.dot_config (key, value, description) values
  ('clock.back_tolerance_ms', '1000', 'How far, in milliseconds, the clock of the database may go back without being a finding.');

update config.dot_config set value = value || '["governance.clock_mark"]' where key = 'orchestrator.backup.tables';
