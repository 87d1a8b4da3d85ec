-- promise: a silent worker turns ok only after a tick that was well, while its class is not frozen, and with finding.recovered about
--          its silence in the same transaction. It leaves the table only when its finding is closed. Bound by triggers.sql.
-- refuses with: RE023
create or replace function queue.guard_recovery() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_lacks text;
begin
  if tg_op = 'DELETE' then
    v_lacks := case when exists (select from governance.system_issues i where i.issue_id = old.issue_id and i.state in ('open', 'acknowledged'))
                    then 'a closed finding' end;
  else
    v_lacks := case
      when new.status <> 'ok' or new.last_ok_at is null or new.last_ok_at <= old.silent_since then 'a tick that was well'
      when queue.is_frozen(old.worker_class) then 'a class that is not frozen'
      -- By transaction: the index starts with it.
      when not exists (select from event.event_outbox o
                        where o.xid = pg_current_xact_id() and o.subject_id = old.issue_id and o.event_type = 'finding.recovered')
        then 'the event finding.recovered' end;
  end if;
  if v_lacks is not null then
    perform internal.refuse(internal.problem('RE023', jsonb_build_object(
      'worker_class', old.worker_class, 'worker', old.worker, 'issue_id', old.issue_id, 'lacks', v_lacks)));
  end if;
  return case tg_op when 'DELETE' then old else new end;
end
$$;
