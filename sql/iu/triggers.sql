-- Units, their texts and their history. See internal/triggers.sql for what holds for every table; the three tables here that a
-- cut writes a row of for each unit have these triggers instead of the general one, whose clause would be parsed for each row.
create or replace trigger trg_aa_iu_gateway_write_guard before insert or update on iu.information_unit
  for each row execute function iu.fn_iu_gateway_write_guard();
create or replace trigger trg_aa_uv_gateway_write_guard before insert or update on iu.unit_version
  for each row execute function iu.fn_iu_gateway_write_guard();
create or replace trigger trg_aa_lifecycle_log_only_by_the_doors before insert on iu.iu_lifecycle_log
  for each row execute function iu.only_by_the_doors();
alter table iu.information_unit enable always trigger trg_aa_iu_gateway_write_guard;
alter table iu.unit_version enable always trigger trg_aa_uv_gateway_write_guard;
alter table iu.iu_lifecycle_log enable always trigger trg_aa_lifecycle_log_only_by_the_doors;

create or replace trigger trg_iu_birth_gate_layer1 before insert on iu.information_unit
  for each row execute function iu.fn_iu_birth_gate_layer1();
alter table iu.information_unit enable always trigger trg_iu_birth_gate_layer1;

-- Constraint triggers cannot be replaced.
drop trigger if exists trg_iu_birth_gate_layer2 on iu.information_unit;
create constraint trigger trg_iu_birth_gate_layer2 after insert or update on iu.information_unit
  deferrable initially deferred for each row execute function iu.fn_iu_birth_gate_layer2();
alter table iu.information_unit enable always trigger trg_iu_birth_gate_layer2;

create or replace trigger trg_iu_enacted_immut before update on iu.information_unit
  for each row execute function iu.fn_iu_enacted_immut();
create or replace trigger trg_uv_enacted_immut before update on iu.unit_version
  for each row execute function iu.fn_uv_enacted_immut();
alter table iu.information_unit enable always trigger trg_iu_enacted_immut;
alter table iu.unit_version enable always trigger trg_uv_enacted_immut;

-- What a unit was born as never changes; of a text, only its lifecycle does.
create or replace trigger unit_facts_never_change
  before update of id, canonical_address, unit_kind, owner_ref, parent_or_container_ref, doc_code, section_type, section_code, sort_order,
    created_at, created_by on iu.information_unit
  for each row execute function internal.refuse_direct_write('RS016');
create or replace trigger text_never_changes
  before update of id, unit_id, version_seq, title, body, content_hash, content_profile, created_at, created_by on iu.unit_version
  for each row execute function internal.refuse_direct_write('RS016');
alter table iu.information_unit enable always trigger unit_facts_never_change;
alter table iu.unit_version enable always trigger text_never_changes;

create or replace trigger unit_is_never_deleted before delete on iu.information_unit
  for each row execute function internal.refuse_direct_write('RS016');
create or replace trigger text_is_never_deleted before delete on iu.unit_version
  for each row execute function internal.refuse_direct_write('RS016');
create or replace trigger lifecycle_log_is_append_only before update or delete on iu.iu_lifecycle_log
  for each row execute function internal.refuse_direct_write('RS016');
alter table iu.information_unit enable always trigger unit_is_never_deleted;
alter table iu.unit_version enable always trigger text_is_never_deleted;
alter table iu.iu_lifecycle_log enable always trigger lifecycle_log_is_append_only;

do $evidence$
declare
  v_table text;
begin
  foreach v_table in array array['source_document', 'source_version', 'unit_edit_draft'] loop
    execute format('create or replace trigger only_by_the_doors before insert on iu.%I
                      for each row when (session_user::text <> all (%L)) execute function internal.refuse_direct_write(%L)',
                   v_table, '{chancery_app,cutter_exec}', 'RS016');
    execute format('create or replace trigger is_append_only before update or delete on iu.%I
                      for each row execute function internal.refuse_direct_write(%L)', v_table, 'RS016');
    execute format('alter table iu.%I enable always trigger only_by_the_doors', v_table);
    execute format('alter table iu.%I enable always trigger is_append_only', v_table);
  end loop;
end
$evidence$;
