-- Requests, votes and uses, closed to the owners as well. See internal/triggers.sql for what holds for every table.
do $evidence$
declare
  v_table text;
begin
  foreach v_table in array array['approval_request', 'approval_vote', 'approval_use'] loop
    execute format('create or replace trigger only_by_the_doors before insert on approval.%I
                      for each row when (session_user::text <> all (%L)) execute function internal.refuse_direct_write(%L)',
                   v_table, '{chancery_app,cutter_exec,cutter_verify,cutter_review}', 'RS016');
    execute format('create or replace trigger is_append_only before update or delete on approval.%I
                      for each row execute function internal.refuse_direct_write(%L)', v_table, 'RS016');
    execute format('alter table approval.%I enable always trigger only_by_the_doors', v_table);
    execute format('alter table approval.%I enable always trigger is_append_only', v_table);
  end loop;
end
$evidence$;
