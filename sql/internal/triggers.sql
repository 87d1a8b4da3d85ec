-- Every table of ours changes through its door: rules, registries and evidence alike. The owners pass (migrations and doors);
-- nobody else does, whatever rights they were given by hand. What is evidence is closed to the owners as well, by the
-- triggers of its own room. TRUNCATE is closed to everyone: row triggers do not see it (experiment E2), and nothing here is
-- ever emptied. ENABLE ALWAYS, so that session_replication_role = replica opens nothing (experiment E1).
do $guards$
declare
  v_table record;
begin
  for v_table in
    select n.nspname as room, c.relname as name, c.relispartition as is_partition
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspowner = 'chancery_owner'::regrole and n.nspname <> 'internal' and c.relkind in ('r', 'p')
  loop
    -- Row triggers reach partitions through their table. The tables that every move or every unit writes have
    -- stricter triggers of their own instead: PostgreSQL parses each WHEN clause anew in every statement.
    if not v_table.is_partition
       and (v_table.room, v_table.name) not in (('fsm', 'run'), ('fsm', 'transition_log'), ('event', 'event_outbox'),
             ('iu', 'information_unit'), ('iu', 'unit_version'), ('iu', 'iu_lifecycle_log'), ('queue', 'job_queue'), ('queue', 'job_finished'),
             ('birth', 'birth_admission_permit'), ('birth', 'birth_registry')) then
      execute format('create or replace trigger changes_through_its_door before insert or update or delete on %I.%I
                        for each row when (current_user not in (%L, %L)) execute function internal.refuse_direct_write(%L)',
                     v_table.room, v_table.name, 'chancery_definer', 'chancery_owner', 'RS015');
      execute format('alter table %I.%I enable always trigger changes_through_its_door', v_table.room, v_table.name);
    end if;
    if v_table.is_partition then
      execute format('create or replace trigger is_written_through_its_table before insert or update or delete on %I.%I
                        for each statement execute function internal.refuse_direct_write(%L)', v_table.room, v_table.name, 'RS016');
      execute format('alter table %I.%I enable always trigger is_written_through_its_table', v_table.room, v_table.name);
    end if;
    execute format('create or replace trigger is_never_emptied before truncate on %I.%I
                      for each statement execute function internal.refuse_direct_write(%L)', v_table.room, v_table.name, 'RS016');
    execute format('alter table %I.%I enable always trigger is_never_emptied', v_table.room, v_table.name);
  end loop;
end
$guards$;

-- A colour is whole at the end of a transaction: with a shape, and in every theme. Constraint triggers cannot be replaced.
do $colours$
declare
  v_table text;
begin
  foreach v_table in array '{colour,palette,theme}'::text[] loop
    execute format('drop trigger if exists colours_are_whole on config.%I', v_table);
    execute format('create constraint trigger colours_are_whole after insert or update or delete on config.%I
                      deferrable initially deferred for each row execute function internal.assert_colours()', v_table);
    execute format('alter table config.%I enable always trigger colours_are_whole', v_table);
  end loop;
end
$colours$;
