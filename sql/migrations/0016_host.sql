-- Locks nothing of yours: makes the table in which the loops of the product agree on who leads.
create table queue.loop_lease (
  loop_name text primary key,
  holder text not null,
  lease_until timestamptz not null,
  taken_at timestamptz not null,
  constraint loop_name_is_a_word check (loop_name ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint loop_holder_has_a_name check (btrim(holder) <> '')
) with (fillfactor = 50);
comment on table queue.loop_lease is
  'Which process leads a loop, and until when. A lease and not a session lock: PostgreSQL keeps the locks of a process that was stopped, and a lease runs out by itself. Loops are safe without it; it saves work.';
comment on column queue.loop_lease.lease_until is 'By the clock of the database. In the past: nobody leads.';

update config.dot_config
   set value = value || '["queue.loop_lease"]'
 where key = 'orchestrator.backup.tables';
