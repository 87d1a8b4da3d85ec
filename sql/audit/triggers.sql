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
