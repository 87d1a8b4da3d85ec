-- Evidence, closed to the owners as well. See internal/triggers.sql for what holds for every table.
-- The outbox alone has no trigger on INSERT: nobody but the engine's role has the right, the sequencer
-- delivers only what stands in the log (so a forged row goes nowhere), and a clause that PostgreSQL parses anew in every move would cost each of them some 9 µs.
create or replace trigger outbox_is_append_only before update or delete on event.event_outbox
  for each row execute function internal.refuse_direct_write('RS016');
alter table event.event_outbox enable always trigger outbox_is_append_only;

create or replace trigger position_only_by_the_sequencer before insert on event.event_position
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger position_is_append_only before update or delete on event.event_position
  for each row execute function internal.refuse_direct_write('RS016');
alter table event.event_position enable always trigger position_only_by_the_sequencer;
alter table event.event_position enable always trigger position_is_append_only;

create or replace trigger sequenced_only_by_the_sequencer before insert on event.event_sequenced
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger sequenced_is_append_only before update or delete on event.event_sequenced
  for each row execute function internal.refuse_direct_write('RS016');
alter table event.event_sequenced enable always trigger sequenced_only_by_the_sequencer;
alter table event.event_sequenced enable always trigger sequenced_is_append_only;

create or replace trigger validation_audit_only_by_its_door before insert on event.event_validation_audit
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger validation_audit_is_append_only before update or delete on event.event_validation_audit
  for each row execute function internal.refuse_direct_write('RS016');
alter table event.event_validation_audit enable always trigger validation_audit_only_by_its_door;
alter table event.event_validation_audit enable always trigger validation_audit_is_append_only;

-- Samples and series: appended by their doors, dropped by the day, never changed.
create or replace trigger only_by_the_door before insert on event.consumer_delivery
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on event.consumer_delivery
  for each row execute function internal.refuse_direct_write('RS016');
alter table event.consumer_delivery enable always trigger only_by_the_door;
alter table event.consumer_delivery enable always trigger is_append_only;

create or replace trigger only_by_the_door before insert on event.event_lag_series
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger is_append_only before update or delete on event.event_lag_series
  for each row execute function internal.refuse_direct_write('RS016');
alter table event.event_lag_series enable always trigger only_by_the_door;
alter table event.event_lag_series enable always trigger is_append_only;
