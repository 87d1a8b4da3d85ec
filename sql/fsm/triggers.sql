-- Every guard trigger is ENABLE ALWAYS: one left at the default does not fire under session_replication_role = replica,
-- and the history could be rewritten (experiment E1). Row triggers do not see TRUNCATE, hence the statement triggers (E2).
-- The WHEN clauses let the doors through without a function call; a superuser's own statement never is the door.
create or replace trigger transition_log_only_by_the_engine before insert on fsm.transition_log
  for each row when (current_user <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger transition_log_is_append_only before update or delete on fsm.transition_log
  for each row execute function internal.refuse_direct_write('RS016');
create or replace trigger transition_log_is_never_emptied before truncate on fsm.transition_log
  for each statement execute function internal.refuse_direct_write('RS016');
alter table fsm.transition_log enable always trigger transition_log_only_by_the_engine;
alter table fsm.transition_log enable always trigger transition_log_is_append_only;
alter table fsm.transition_log enable always trigger transition_log_is_never_emptied;

create or replace trigger run_is_born_and_moved_by_the_engine before insert or update on fsm.run
  for each row when (current_user <> 'chancery_definer') execute function internal.refuse_direct_write('RS015');
create or replace trigger run_facts_never_change before update on fsm.run
  for each row when (
    old.run_id is distinct from new.run_id or old.state_machine_id is distinct from new.state_machine_id
    or old.parent_run_id is distinct from new.parent_run_id or old.data is distinct from new.data
    or old.started_by is distinct from new.started_by or old.trace_id is distinct from new.trace_id
    or old.correlation_id is distinct from new.correlation_id or old.created_at is distinct from new.created_at)
  execute function internal.refuse_direct_write('RS015');
create or replace trigger run_is_never_deleted before delete on fsm.run
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger run_is_never_emptied before truncate on fsm.run
  for each statement execute function internal.refuse_direct_write('RS015');
alter table fsm.run enable always trigger run_is_born_and_moved_by_the_engine;
alter table fsm.run enable always trigger run_facts_never_change;
alter table fsm.run enable always trigger run_is_never_deleted;
alter table fsm.run enable always trigger run_is_never_emptied;

-- State, seq and head hash equal the newest log row at COMMIT, whoever wrote. Constraint triggers cannot be replaced.
drop trigger if exists run_state_equals_log on fsm.run;
create constraint trigger run_state_equals_log after insert or update on fsm.run
  deferrable initially deferred for each row execute function fsm.assert_log_custom();
alter table fsm.run enable always trigger run_state_equals_log;

-- A stored machine is a fact that runs were judged by: only its active flag moves, and only through the door.
create or replace trigger machine_changes_through_its_door before insert or update or delete on fsm.state_machine_def
  for each row when (current_user <> 'chancery_definer') execute function internal.refuse_direct_write('RS015');
create or replace trigger transition_rows_change_through_their_door before insert or update or delete on fsm.transition_def
  for each row when (current_user <> 'chancery_definer') execute function internal.refuse_direct_write('RS015');
create or replace trigger state_rows_change_through_their_door before insert or update or delete on fsm.state_def
  for each row when (current_user <> 'chancery_definer') execute function internal.refuse_direct_write('RS015');
create or replace trigger guard_rows_change_through_their_door before insert or update or delete on fsm.guard_def
  for each row when (current_user <> 'chancery_definer') execute function internal.refuse_direct_write('RS015');
alter table fsm.state_machine_def enable always trigger machine_changes_through_its_door;
alter table fsm.transition_def enable always trigger transition_rows_change_through_their_door;
alter table fsm.state_def enable always trigger state_rows_change_through_their_door;
alter table fsm.guard_def enable always trigger guard_rows_change_through_their_door;
