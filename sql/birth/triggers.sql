-- Permits and births. See internal/triggers.sql for what holds for every table; the two tables here that are written for every row that
-- is born have these triggers instead of the general one, whose clause would be parsed for each row.
create or replace trigger only_by_the_gate before insert or update on birth.birth_admission_permit
  for each row execute function birth.only_by_the_gate();
create or replace trigger permit_facts_never_change
  before update of permit_id, collection_name, entity_code, request_hash, batch_id, state_machine_id, entity_name, species_code, governance_role,
    payload_digest, requested_by_dot, approval_id, started_by, requested_at, expires_at, trace_id, correlation_id on birth.birth_admission_permit
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger permit_is_never_deleted before delete on birth.birth_admission_permit
  for each row execute function internal.refuse_direct_write('RS015');
alter table birth.birth_admission_permit enable always trigger only_by_the_gate;
alter table birth.birth_admission_permit enable always trigger permit_facts_never_change;
alter table birth.birth_admission_permit enable always trigger permit_is_never_deleted;
-- Constraint triggers cannot be replaced.
drop trigger if exists permit_equals_log on birth.birth_admission_permit;
create constraint trigger permit_equals_log after insert or update on birth.birth_admission_permit
  deferrable initially deferred for each row execute function birth.permit_equals_log();
alter table birth.birth_admission_permit enable always trigger permit_equals_log;

create or replace trigger only_by_the_gate before insert on birth.birth_registry
  for each row execute function birth.only_by_a_birth();
create or replace trigger is_append_only before update or delete on birth.birth_registry
  for each row execute function internal.refuse_direct_write('RS016');
alter table birth.birth_registry enable always trigger only_by_the_gate;
alter table birth.birth_registry enable always trigger is_append_only;

do $evidence$
declare
  v_table text;
begin
  foreach v_table in array array['birth.family_log', 'birth.break_glass', 'iu.dot_iu_command_run'] loop
    -- Policies are the administrator's, who becomes the definer; the rest comes through the product's own login.
    execute format('create or replace trigger only_by_the_doors before insert on %s
                      for each row when (current_user::text <> %L%s) execute function internal.refuse_direct_write(%L)',
                   v_table::regclass, 'chancery_definer', case when v_table <> 'birth.family_log' then ' or session_user::text <> ''chancery_app''' end, 'RS016');
    execute format('create or replace trigger is_append_only before update or delete on %s
                      for each row execute function internal.refuse_direct_write(%L)', v_table::regclass, 'RS016');
    execute format('alter table %s enable always trigger only_by_the_doors', v_table::regclass);
    execute format('alter table %s enable always trigger is_append_only', v_table::regclass);
  end loop;
end
$evidence$;

drop trigger if exists a_birth_does_not_vanish on birth.departure;
create constraint trigger a_birth_does_not_vanish after insert on birth.departure
  deferrable initially deferred for each row execute function birth.refuse_vanished();
alter table birth.departure enable always trigger a_birth_does_not_vanish;

drop trigger if exists rehearsal_is_never_committed on birth.rehearsal;
create constraint trigger rehearsal_is_never_committed after insert or update on birth.rehearsal
  deferrable initially deferred for each row execute function birth.refuse_rehearsal();
alter table birth.rehearsal enable always trigger rehearsal_is_never_committed;

create or replace trigger candidate_is_written_by_the_doors before insert or update on governance.governance_candidate_state
  for each row when (current_user::text <> 'chancery_definer' or session_user::text <> 'chancery_app') execute function internal.refuse_direct_write('RS015');
alter table governance.governance_candidate_state enable always trigger candidate_is_written_by_the_doors;
create or replace trigger candidate_facts_never_change
  before update of candidate_id, birth_id, object_type, object_ref, state_machine_id, started_by, trace_id, correlation_id, created_at, row_digest, digest_version
  on governance.governance_candidate_state
  for each row execute function internal.refuse_direct_write('RS015');
create or replace trigger candidate_is_never_deleted before delete on governance.governance_candidate_state
  for each row execute function internal.refuse_direct_write('RS015');
alter table governance.governance_candidate_state enable always trigger candidate_facts_never_change;
alter table governance.governance_candidate_state enable always trigger candidate_is_never_deleted;
drop trigger if exists candidate_state_equals_log on governance.governance_candidate_state;
create constraint trigger candidate_state_equals_log after insert or update on governance.governance_candidate_state
  deferrable initially deferred for each row execute function fsm.assert_log_governance_candidate();
alter table governance.governance_candidate_state enable always trigger candidate_state_equals_log;

-- Units are a family; its triggers are ours to bind.
select birth.arm('iu.information_unit');
