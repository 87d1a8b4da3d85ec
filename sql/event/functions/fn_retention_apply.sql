-- owner: chancery_owner
-- promise: partitions that are older than their table's days are gone, unless something still needs them; says which and why. Rows are
--          never deleted one by one, and evidence is never dropped: it stands in no partitioned table.
--          A partition that somebody is just reading is left for the next time: waiting for it would hold up every writer behind us.
-- callers: chancery_app (the host's loop), chancery_migrator
-- locks: the table, for the moment of the drop
create or replace function event.fn_retention_apply() returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '250ms'
as $$
declare
  v_partition record;
  v_objection text;
  v_dropped jsonb := '[]';
  v_kept jsonb := '[]';
begin
  perform internal.sweep_turns();
  perform internal.take_turn('event.fn_ensure_partitions');
  for v_partition in
    select t.table_name, n.nspname as room, c.relname as name, t.key_kind
      from config.partitioned_table t
      join pg_inherits i on i.inhparent = t.table_name::regclass
      join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
      cross join lateral (select (internal.now() at time zone 'UTC')::date - (s.value #>> '{}')::int as oldest
                            from config.dot_config s where s.key = 'retention.days.' || t.table_name) keep
     where c.relname ~ '_[0-9]+$' and not exists (select from audit.evidence_def e where e.table_name = t.table_name)
       and case when t.key_kind = 'million' then event.last_stamped_day(c.relname) < keep.oldest
                else substring(c.relname from '[0-9]+$')::date < keep.oldest end
     -- The outbox of a day goes before its positions.
     order by t.table_name = 'event.event_outbox' desc, t.table_name = 'event.event_sequenced' desc, t.table_name, c.relname
  loop
    v_objection := event.retention_objection(v_partition.table_name, v_partition.name);
    if v_objection is null then
      begin
        execute format('drop table %I.%I', v_partition.room, v_partition.name);
        v_dropped := v_dropped || to_jsonb(v_partition.room || '.' || v_partition.name);
      exception when lock_not_available then
        v_objection := 'in use';
      end;
    end if;
    if v_objection is not null then
      v_kept := v_kept || jsonb_build_array(jsonb_build_object('partition', v_partition.room || '.' || v_partition.name, 'why', v_objection));
    end if;
  end loop;
  return jsonb_build_object('dropped', v_dropped, 'kept', v_kept);
end
$$;
