-- Findings, closed to the owners as well. See internal/triggers.sql for what holds for every table.
create or replace trigger run_is_born_by_the_door before insert on governance.system_issues
  for each row when (current_user::text <> 'chancery_definer' or session_user::text <> all ('{chancery_app,cutter_exec,cutter_verify,cutter_review}'))
  execute function internal.refuse_direct_write('RS015');
create or replace trigger run_facts_never_change
  before update of issue_id, fingerprint, issue_type, issue_class, source_system, title, description, entity_type, entity_code, first_seen_at,
    state_machine_id, started_by, trace_id, correlation_id, row_digest, digest_version
  on governance.system_issues
  for each row execute function internal.refuse_direct_write('RS015');
-- What is closed is not counted on, and a count never goes back.
create or replace trigger occurrences_are_counted
  before update of severity, evidence, occurrence_count, last_seen_at on governance.system_issues
  for each row when (current_user::text <> 'chancery_definer' or old.state not in ('open', 'acknowledged') or new.occurrence_count <> old.occurrence_count + 1)
  execute function internal.refuse_direct_write('RS015');
create or replace trigger run_is_never_deleted before delete on governance.system_issues
  for each row execute function internal.refuse_direct_write('RS015');
alter table governance.system_issues enable always trigger run_is_born_by_the_door;
alter table governance.system_issues enable always trigger run_facts_never_change;
alter table governance.system_issues enable always trigger occurrences_are_counted;
alter table governance.system_issues enable always trigger run_is_never_deleted;

-- Constraint triggers cannot be replaced.
drop trigger if exists run_state_equals_log on governance.system_issues;
create constraint trigger run_state_equals_log after insert or update on governance.system_issues
  deferrable initially deferred for each row execute function fsm.assert_log_finding();
alter table governance.system_issues enable always trigger run_state_equals_log;

create or replace trigger only_by_the_door before insert on governance.issue_report
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on governance.issue_report
  for each row execute function internal.refuse_direct_write('RS016');
alter table governance.issue_report enable always trigger only_by_the_door;
alter table governance.issue_report enable always trigger is_append_only;

create or replace trigger only_by_the_door before insert on governance.status_summary
  for each row when (current_user::text <> 'chancery_definer' or session_user::text <> 'chancery_app') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on governance.status_summary
  for each row execute function internal.refuse_direct_write('RS016');
alter table governance.status_summary enable always trigger only_by_the_door;
alter table governance.status_summary enable always trigger is_append_only;
