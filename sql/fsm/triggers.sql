-- Evidence and state, closed to the owners as well. See internal/triggers.sql for what holds for every table.
-- Once a statement, before anything is written. (create or replace cannot change the level of a trigger that an earlier release made.)
drop trigger if exists transition_log_only_by_the_engine on fsm.transition_log;
create trigger transition_log_only_by_the_engine before insert on fsm.transition_log
  for each statement execute function internal.refuse_other_logins('RS016');
create or replace trigger transition_log_is_append_only before update or delete on fsm.transition_log
  for each row execute function internal.refuse_direct_write('RS016');
alter table fsm.transition_log enable always trigger transition_log_only_by_the_engine;
alter table fsm.transition_log enable always trigger transition_log_is_append_only;

-- A run is born by the engine. Its state, seq and hash are tied to the log at COMMIT by the constraint trigger below, whoever
-- writes them; what it was born with never changes at all. Naming columns instead of testing who writes keeps these triggers
-- out of the engine's way: PostgreSQL passes them by without parsing a clause. (Births alone pay for one. The cast to text keeps
-- it short: a constant of type name is 64 numbers long.)
create or replace trigger run_is_born_by_the_engine before insert on fsm.run
  for each row when (session_user::text <> all ('{chancery_app,cutter_exec,cutter_verify,cutter_review}')) execute function internal.refuse_direct_write('RS015');
-- (After the write, though it refuses: a trigger before it makes PostgreSQL lock every row that is moved, with a record of its own
-- in the write-ahead log. create or replace cannot change when a trigger of an earlier release fires.)
drop trigger if exists run_facts_never_change on fsm.run;
create trigger run_facts_never_change
  after update of run_id, state_machine_id, parent_run_id, data, started_by, trace_id, correlation_id, created_at on fsm.run
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger run_is_never_deleted before delete on fsm.run
  for each row execute function internal.refuse_direct_write('RS015');
alter table fsm.run enable always trigger run_is_born_by_the_engine;
alter table fsm.run enable always trigger run_facts_never_change;
alter table fsm.run enable always trigger run_is_never_deleted;

-- State, seq, head hash and time equal the newest log row at COMMIT, whoever wrote. Constraint triggers cannot be replaced.
drop trigger if exists run_state_equals_log on fsm.run;
create constraint trigger run_state_equals_log after insert or update on fsm.run
  deferrable initially deferred for each row execute function fsm.assert_log_custom();
alter table fsm.run enable always trigger run_state_equals_log;

-- What was compiled into transition_def follows its sources. (New event types and guards come with a machine, which compiles
-- at its end.)
create or replace trigger login_classes_are_compiled after insert or update or delete on identity.login_actor_class
  for each statement execute function fsm.recompile();
create or replace trigger event_types_are_compiled after update on event.event_type_registry
  for each statement execute function fsm.recompile();
create or replace trigger guards_are_compiled after update on fsm.guard_def
  for each statement execute function fsm.recompile();
alter table identity.login_actor_class enable always trigger login_classes_are_compiled;
alter table event.event_type_registry enable always trigger event_types_are_compiled;
alter table fsm.guard_def enable always trigger guards_are_compiled;
