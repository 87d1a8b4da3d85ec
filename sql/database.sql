-- What belongs to one database and is lost when it is cloned or restored under another name.
-- Run by an administrator, repeatable.
do $database$
begin
  -- Without TEMP a caller cannot plant a table in front of ours (experiment E5).
  execute format('revoke temporary on database %I from public', current_database());
  execute format('grant connect on database %I to chancery_app, chancery_migrator, chancery_backup, auditor_ro, cutter_exec, cutter_verify, cutter_review, cutter_ro, birth_writer', current_database());
  -- The owners make the schemas; the migrator enters as itself and becomes them.
  execute format('grant create on database %I to chancery_owner', current_database());
end
$database$;

-- New functions are executable by PUBLIC unless this is said before they are made, by each maker, without
-- naming a schema: the per-schema form does not take the right away (experiment E4).
alter default privileges for role chancery_owner revoke execute on functions from public;
alter default privileges for role chancery_definer revoke execute on functions from public;
alter default privileges for role chancery_guard revoke execute on functions from public;
-- Partitions are made later; a backup reads them like everything else.
alter default privileges for role chancery_owner grant select on tables to chancery_backup;

-- A restored table has another number, and families know their table by it. Users' tables are protected again by whoever answers for
-- them; the units are ours to find.
do $units$
begin
  if to_regclass('birth.family') is not null then
    perform set_config('role', 'chancery_definer', true);
    -- Numbers of elsewhere can be taken here by another table.
    update birth.family f set relation = 0 where f.relation = 'iu.information_unit'::regclass and f.collection_name <> 'iu.information_unit';
    update birth.family f set relation = 'iu.information_unit'::regclass
     where f.collection_name = 'iu.information_unit' and f.relation <> 'iu.information_unit'::regclass;
    if found then
      perform birth.generate_families();
    end if;
    perform set_config('role', 'none', true);
  end if;
end
$units$;
