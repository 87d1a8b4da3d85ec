-- The cutter's evidence, closed to the owners as well. See internal/triggers.sql for what holds for every table.
do $evidence$
declare
  v_table text;
begin
  foreach v_table in array array[
      'decision_backlog_dependency', 'decision_backlog_sweep_log', 'manifest_envelope', 'manifest_unit_block', 'dot_pair_signature',
      'cut_change_set', 'cut_change_set_affected_row', 'verify_result', 'review_decision'] loop
    execute format('create or replace trigger only_by_the_doors before insert on cutter_governance.%I
                      for each row when (session_user::text <> all (%L)) execute function internal.refuse_direct_write(%L)',
                   v_table, '{chancery_app,cutter_exec,cutter_verify,cutter_review}', 'RS016');
    execute format('create or replace trigger is_never_deleted before delete on cutter_governance.%I
                      for each row execute function internal.refuse_direct_write(%L)', v_table, 'RS016');
    execute format('alter table cutter_governance.%I enable always trigger only_by_the_doors', v_table);
    execute format('alter table cutter_governance.%I enable always trigger is_never_deleted', v_table);
    if v_table <> 'review_decision' then
      execute format('create or replace trigger is_never_changed before update on cutter_governance.%I
                        for each row execute function internal.refuse_direct_write(%L)', v_table, 'RS016');
      execute format('alter table cutter_governance.%I enable always trigger is_never_changed', v_table);
    end if;
  end loop;
end
$evidence$;

-- The one thing that can happen to a decision is to be superseded, once, through the door of the next one.
create or replace trigger decision_is_only_ever_superseded before update on cutter_governance.review_decision
  for each row when (
    session_user::text <> 'cutter_review' or current_user::text <> 'chancery_definer' or old.superseded_by_review_decision_id is not null
    or (to_jsonb(new) - 'superseded_by_review_decision_id' - 'row_digest') is distinct from (to_jsonb(old) - 'superseded_by_review_decision_id' - 'row_digest'))
  execute function internal.refuse_direct_write('RS016');
alter table cutter_governance.review_decision enable always trigger decision_is_only_ever_superseded;

create or replace trigger no_entry_waits_for_itself before insert on cutter_governance.decision_backlog_dependency
  for each row execute function cutter_governance.refuse_dependency_cycle();
alter table cutter_governance.decision_backlog_dependency enable always trigger no_entry_waits_for_itself;

-- An entry is born by its door; its state, seq and hash are tied to the log at COMMIT; what it was marked with never changes.
create or replace trigger entry_is_born_by_the_door before insert on cutter_governance.decision_backlog_entry
  for each row when (session_user::text <> all ('{chancery_app,cutter_exec,cutter_verify,cutter_review}'))
  execute function internal.refuse_direct_write('RS015');
create or replace trigger entry_facts_never_change
  before update of entry_id, kind, payload, emitted_at, scenario_ref, idempotency_key, document_id, source_version_id, escalation_of,
    state_machine_id, started_by, trace_id, correlation_id, row_digest, digest_version on cutter_governance.decision_backlog_entry
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger entry_is_never_deleted before delete on cutter_governance.decision_backlog_entry
  for each row execute function internal.refuse_direct_write('RS015');
alter table cutter_governance.decision_backlog_entry enable always trigger entry_is_born_by_the_door;
alter table cutter_governance.decision_backlog_entry enable always trigger entry_facts_never_change;
alter table cutter_governance.decision_backlog_entry enable always trigger entry_is_never_deleted;

-- Constraint triggers cannot be replaced.
drop trigger if exists entry_state_equals_log on cutter_governance.decision_backlog_entry;
create constraint trigger entry_state_equals_log after insert or update on cutter_governance.decision_backlog_entry
  deferrable initially deferred for each row execute function fsm.assert_log_cut_request();
alter table cutter_governance.decision_backlog_entry enable always trigger entry_state_equals_log;

-- Reserved (OD-2): nothing writes it, not even its owner.
create or replace trigger is_reserved before insert or update or delete on cutter_governance.canonical_address_alias
  for each row execute function internal.refuse_direct_write('RS016');
alter table cutter_governance.canonical_address_alias enable always trigger is_reserved;
