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
