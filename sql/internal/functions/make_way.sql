-- owner: chancery_owner
-- promise: a new database, into which a backup is about to be restored, has no row of its own in the tables that the backup brings. Only
--          while nobody has worked in it: a principal of yours or a single move, and it refuses.
-- callers: the tables' owner, by hand, before a restore (docs/operate/backup.md)
-- refuses with: RS016
create or replace function internal.make_way() returns void
language plpgsql
as $$
declare
  -- What a release fills and people change afterwards, so that both bring rows.
  v_table text;
  v_trigger record;
begin
  if exists (select from identity.principal p where p.name <> 'chancery') or exists (select from fsm.transition_log) or exists (select from queue.job_queue) then
    perform internal.refuse(internal.problem('RS016', jsonb_build_object('table', 'identity.principal', 'operation', 'delete', 'login', session_user)));
  end if;
  foreach v_table in array array['birth.family', 'birth.handoff_cursor', 'identity.identity_log', 'identity.principal', 'queue.lane', 'queue.executor_class_registry', 'queue.retry_policy_registry',
                                 'event.lag_cursor'] loop
    execute format('alter table %s disable trigger user', v_table::regclass);
    execute format('delete from %s', v_table::regclass);
    for v_trigger in select t.tgname from pg_trigger t where t.tgrelid = v_table::regclass and not t.tgisinternal loop
      execute format('alter table %s enable always trigger %I', v_table::regclass, v_trigger.tgname);
    end loop;
  end loop;
end
$$;
