-- Heartbeats. See internal/triggers.sql for what holds for every table.
create or replace trigger silence_ends_with_a_recovery before update of status, issue_id, silent_since on queue.queue_heartbeat
  for each row when (old.status = 'silent' and (new.status <> 'silent' or new.issue_id is distinct from old.issue_id
                                                or new.silent_since is distinct from old.silent_since))
  execute function queue.guard_recovery();
create or replace trigger silence_does_not_vanish before delete on queue.queue_heartbeat
  for each row when (old.status = 'silent') execute function queue.guard_recovery();
alter table queue.queue_heartbeat enable always trigger silence_ends_with_a_recovery;
alter table queue.queue_heartbeat enable always trigger silence_does_not_vanish;

create or replace trigger only_by_the_door before insert on queue.heartbeat_series
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on queue.heartbeat_series
  for each row execute function internal.refuse_direct_write('RS016');
alter table queue.heartbeat_series enable always trigger only_by_the_door;
alter table queue.heartbeat_series enable always trigger is_append_only;
