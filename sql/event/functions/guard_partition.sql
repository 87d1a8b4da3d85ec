-- owner: chancery_owner
-- promise: a partition cannot be emptied behind its table's back: row triggers reach partitions by themselves, TRUNCATE
--          triggers do not.
create or replace function event.guard_partition(p_name text) returns void
language plpgsql
as $$
begin
  execute format('create or replace trigger %I before truncate on event.%I for each statement execute function internal.refuse_direct_write(%L)',
                 'is_never_emptied', p_name, 'RS016');
  execute format('revoke insert, update, delete, truncate on event.%I from chancery_owner', p_name);
  execute format('alter table event.%I enable always trigger %I', p_name, 'is_never_emptied');
end
$$;
