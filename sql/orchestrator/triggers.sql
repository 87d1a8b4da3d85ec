-- Runs and keys, closed to the owners as well. See internal/triggers.sql for what holds for every table.
create or replace trigger run_is_born_by_the_door before insert on orchestrator.run
  for each row when (session_user::text <> 'cutter_exec') execute function internal.refuse_direct_write('RS015');
create or replace trigger run_facts_never_change
  before update of run_id, run_name, state_machine_id, document_id, source_version_id, entry_id, started_by, trace_id, correlation_id, created_at, row_digest, digest_version
  on orchestrator.run
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger run_is_never_deleted before delete on orchestrator.run
  for each row execute function internal.refuse_direct_write('RS015');
alter table orchestrator.run enable always trigger run_is_born_by_the_door;
alter table orchestrator.run enable always trigger run_facts_never_change;
alter table orchestrator.run enable always trigger run_is_never_deleted;

-- Constraint triggers cannot be replaced.
drop trigger if exists run_state_equals_log on orchestrator.run;
create constraint trigger run_state_equals_log after insert or update on orchestrator.run
  deferrable initially deferred for each row execute function fsm.assert_log_orchestrator_run();
alter table orchestrator.run enable always trigger run_state_equals_log;

create or replace trigger only_by_the_door before insert on orchestrator.backup_key
  for each row when (current_user <> 'chancery_definer' or session_user::text <> 'chancery_migrator') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on orchestrator.backup_key
  for each row execute function internal.refuse_direct_write('RS016');
alter table orchestrator.backup_key enable always trigger only_by_the_door;
alter table orchestrator.backup_key enable always trigger is_append_only;
