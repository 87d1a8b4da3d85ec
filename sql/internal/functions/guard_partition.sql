-- owner: chancery_owner
-- promise: a partition is as closed as its table: row triggers reach partitions by themselves, statement triggers do not.
create or replace function internal.guard_partition(p_room text, p_name text) returns void
language plpgsql
as $$
begin
  execute format('create or replace trigger %I before truncate on %I.%I for each statement execute function internal.refuse_direct_write(%L)',
                 'is_never_emptied', p_room, p_name, 'RS016');
  -- Rows come through the table. Whoever names the partition itself goes round the table's own triggers.
  execute format('create or replace trigger %I before insert or update or delete on %I.%I for each statement execute function internal.refuse_direct_write(%L)',
                 'is_written_through_its_table', p_room, p_name, 'RS016');
  execute format('alter table %I.%I enable always trigger %I', p_room, p_name, 'is_written_through_its_table');
  execute format('revoke insert, update, delete, truncate on %I.%I from chancery_owner', p_room, p_name);
  execute format('alter table %I.%I enable always trigger %I', p_room, p_name, 'is_never_emptied');
end
$$;
