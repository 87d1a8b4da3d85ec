-- promise: the class is frozen, or is not any more, by a person and with a reason. While it is, none of its silent workers recovers.
-- callers: chancery_app (whoever may settle problems)
-- locks: the row of the class (update)
-- refuses with: RE022 malformed, RE050 no worker of the class ever ticked, RI001–RI004
create or replace function queue.fn_heartbeat_freeze(p_worker_class text, p_frozen boolean, p_reason text, p_principal text, p_actor_class text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems jsonb := queue.worker_problems(p_worker_class, '*', 'PG_worker', '{}');
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  if p_actor_class <> all (queue.freezing_classes()) then
    v_problems := internal.problem('RE022', jsonb_build_object('field', 'actor_class', 'expected', 'one of ' || array_to_string(queue.freezing_classes(), ', ')));
  elsif p_frozen is null or internal.is_blank(p_reason) or length(p_reason) > 1000 then
    v_problems := internal.problem('RE022', '{"field": "reason", "expected": "whether to freeze, and why in at most 1000 characters"}');
  elsif v_problems is null and not exists (select from queue.queue_heartbeat h where h.worker_class = p_worker_class)
        and not exists (select from queue.heartbeat_class c where c.worker_class = p_worker_class) then
    v_problems := internal.problem('RE050', jsonb_build_object('worker_class', p_worker_class, 'known', (
      select coalesce(jsonb_agg(distinct h.worker_class order by h.worker_class), '[]') from queue.queue_heartbeat h)));
  end if;
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  insert into queue.heartbeat_class as c (worker_class, frozen, reason, changed_by, changed_at)
  values (p_worker_class, p_frozen, p_reason, p_principal, internal.now())
  on conflict (worker_class) do update
    set frozen = excluded.frozen, reason = excluded.reason, changed_by = excluded.changed_by, changed_at = excluded.changed_at;
  perform queue.note_heartbeat(p_worker_class, '*', case when p_frozen then 'thawed' else 'frozen' end, case when p_frozen then 'frozen' else 'thawed' end, null, p_principal);
  return jsonb_build_object('worker_class', p_worker_class, 'frozen', p_frozen, 'reason', p_reason);
end
$$;
