-- Jobs move along the edges of their machine, also by hand. See internal/triggers.sql for what holds for every table.
-- Once a statement, not once a row: a claim writes hundreds.
drop trigger if exists only_by_the_doors on queue.job_queue;
create trigger only_by_the_doors before insert or update or delete on queue.job_queue
  for each statement execute function queue.only_by_the_doors('RS015');
create or replace trigger job_is_born_queued before insert on queue.job_queue
  for each row when (new.state <> 'queued' or new.seq <> 0 or new.lease_no <> 0 or new.priority < 0 or internal.is_blank(new.job_kind)
                     or new.trace_id !~ '^[0-9a-f]{32}$' or new.trace_id ~ '^0{32}$')
  execute function internal.refuse_direct_write('RS015');
select queue.bind_edges();
create or replace trigger job_facts_never_change
  before update of job_id, job_no, executor_class, job_kind, state_machine_id, priority, max_attempts, payload_json, payload_ref, source_ref, target_ref,
    idempotency_key, replay_request_id, causation_event_id, started_by, trace_id, correlation_id, created_at on queue.job_queue
  for each row execute function internal.refuse_direct_write('RS015');
alter table queue.job_queue enable always trigger only_by_the_doors;
alter table queue.job_queue enable always trigger job_is_born_queued;
alter table queue.job_queue enable always trigger job_facts_never_change;
-- What the log knows is tied to it at COMMIT. Bound to columns that claims and results do not name, so that they pass it by.
-- Constraint triggers cannot be replaced.
drop trigger if exists job_state_equals_log on queue.job_queue;
create constraint trigger job_state_equals_log after update of seq, head_hash, facet on queue.job_queue
  deferrable initially deferred for each row execute function fsm.assert_log_job();
alter table queue.job_queue enable always trigger job_state_equals_log;

drop trigger if exists only_by_the_doors on queue.job_finished;
create trigger only_by_the_doors before insert on queue.job_finished
  for each statement execute function queue.only_by_the_doors('RS016');
create or replace trigger is_append_only before update or delete on queue.job_finished
  for each row execute function internal.refuse_direct_write('RS016');
alter table queue.job_finished enable always trigger only_by_the_doors;
alter table queue.job_finished enable always trigger is_append_only;

create or replace trigger only_by_the_doors before insert on queue.job_dead_letter
  for each row when (current_user <> 'chancery_definer' or session_user::text <> 'chancery_app') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on queue.job_dead_letter
  for each row execute function internal.refuse_direct_write('RS016');
alter table queue.job_dead_letter enable always trigger only_by_the_doors;
alter table queue.job_dead_letter enable always trigger is_append_only;

create or replace trigger request_is_written_by_the_doors before insert or update on queue.dlq_replay_request
  for each row when (current_user <> 'chancery_definer' or session_user::text <> 'chancery_app') execute function internal.refuse_direct_write('RS015');
create or replace trigger request_facts_never_change
  before update of dlq_replay_request_id, batch_id, batch_no, job_id, state_machine_id, reason, stagger_ms, started_by, trace_id, correlation_id, created_at, row_digest, digest_version
  on queue.dlq_replay_request
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger request_is_never_deleted before delete on queue.dlq_replay_request
  for each row execute function internal.refuse_direct_write('RS015');
alter table queue.dlq_replay_request enable always trigger request_is_written_by_the_doors;
alter table queue.dlq_replay_request enable always trigger request_facts_never_change;
alter table queue.dlq_replay_request enable always trigger request_is_never_deleted;
drop trigger if exists request_state_equals_log on queue.dlq_replay_request;
create constraint trigger request_state_equals_log after insert or update on queue.dlq_replay_request
  deferrable initially deferred for each row execute function fsm.assert_log_dlq_replay();
alter table queue.dlq_replay_request enable always trigger request_state_equals_log;
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
