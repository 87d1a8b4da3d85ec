-- Every table of evidence stamps its rows (see internal.generate_digests). "zz": after the triggers that refuse or fill in.
do $stamps$
declare
  v_table record;
begin
  for v_table in select e.table_name, replace(e.table_name, '.', '_') as flat from audit.evidence_def e loop
    execute format('create or replace trigger zz_stamps_its_digest before insert or update on %s
                      for each row execute function audit.%I()', v_table.table_name::regclass, 'stamp_' || v_table.flat);
    execute format('alter table %s enable always trigger zz_stamps_its_digest', v_table.table_name::regclass);
  end loop;
end
$stamps$;
-- The history of rules and the acknowledgements: written by the doors, changed by nobody.
do $history$
declare
  v_table text;
begin
  foreach v_table in array array['audit.rule_change', 'audit.drift_acknowledgement'] loop
    execute format('create or replace trigger only_by_the_doors before insert on %s
                      for each row when (current_user::text <> %L) execute function internal.refuse_direct_write(%L)', v_table::regclass, 'chancery_definer', 'RS016');
    execute format('create or replace trigger is_append_only before update or delete on %s
                      for each row execute function internal.refuse_direct_write(%L)', v_table::regclass, 'RS016');
    execute format('alter table %s enable always trigger only_by_the_doors', v_table::regclass);
    execute format('alter table %s enable always trigger is_append_only', v_table::regclass);
  end loop;
end
$history$;

-- Every table of rules keeps the history of its rows.
do $rules$
declare
  v_tables audit.rule_table[] := array(select r from audit.rule_table r order by r.table_name);
  v_table audit.rule_table;
begin
  -- As an array: the list is one of these tables.
  foreach v_table in array v_tables loop
    execute format('create or replace trigger zz_keeps_its_history after insert or update or delete on %s
                      for each row execute function audit.note_rule(%L)', v_table.table_name::regclass, v_table.key_columns);
    execute format('alter table %s enable always trigger zz_keeps_its_history', v_table.table_name::regclass);
  end loop;
end
$rules$;
select audit.begin_rule_history();
