-- Evidence and state, closed to the owners as well. See internal/triggers.sql for what holds for every table.
-- The cast to text keeps the stored clause short: PostgreSQL parses it anew in every statement, and a constant of type name is
-- 64 numbers long.
create or replace trigger transition_log_only_by_the_engine before insert on fsm.transition_log
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger transition_log_is_append_only before update or delete on fsm.transition_log
  for each row execute function internal.refuse_direct_write('RS016');
alter table fsm.transition_log enable always trigger transition_log_only_by_the_engine;
alter table fsm.transition_log enable always trigger transition_log_is_append_only;

-- What a run was born with never changes: the engine's own role may update the columns of a move and no others (grants.sql).
create or replace trigger run_is_born_and_moved_by_the_engine before insert or update on fsm.run
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS015');
create or replace trigger run_is_never_deleted before delete on fsm.run
  for each row execute function internal.refuse_direct_write('RS015');
alter table fsm.run enable always trigger run_is_born_and_moved_by_the_engine;
alter table fsm.run enable always trigger run_is_never_deleted;

-- State, seq and head hash equal the newest log row at COMMIT, whoever wrote. Constraint triggers cannot be replaced.
drop trigger if exists run_state_equals_log on fsm.run;
create constraint trigger run_state_equals_log after insert or update on fsm.run
  deferrable initially deferred for each row execute function fsm.assert_log_custom();
alter table fsm.run enable always trigger run_state_equals_log;
