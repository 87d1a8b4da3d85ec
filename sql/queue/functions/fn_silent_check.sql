-- promise: every worker that said nothing for longer than its class may is silent, with a finding. Silent ones whose finding a person
--          closed are forgotten. The clock that all of this is measured by is looked at first.
-- callers: chancery_app (system)
-- locks: the rows of those workers (update; one that is being ticked is not silent and is passed by), then their findings
-- refuses with: RS018 no machine for findings, RI001–RI004
create or replace function queue.fn_silent_check(p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz;
  v_row record;
  v_issue_id uuid;
  v_silent jsonb := '[]';
  v_forgotten integer := 0;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  v_now := internal.now();
  perform governance.watch_clock(p_principal);
  for v_row in
    select h.worker_class, h.worker, h.status, h.last_tick_at, h.last_ok_at, t.seconds
      from queue.queue_heartbeat h, lateral queue.heartbeat_threshold(h.worker_class) t (seconds)
     where h.status in ('ok', 'warn') and h.last_tick_at < v_now - make_interval(secs => t.seconds)
     order by h.worker_class, h.worker
     limit 1000
       for update of h skip locked
  loop
    v_issue_id := governance.require_open(
      'heartbeat', 'critical', 'worker_silent', 'silent_worker', format('%s %s is silent', v_row.worker_class, left(v_row.worker, 300)), null, 'worker',
      v_row.worker_class || '/' || v_row.worker,
      jsonb_build_object('worker_class', v_row.worker_class, 'worker', v_row.worker, 'last_tick_at', v_row.last_tick_at, 'last_ok_at', v_row.last_ok_at,
                         'threshold_seconds', v_row.seconds), p_principal);
    update queue.queue_heartbeat h set status = 'silent', silent_since = v_now, issue_id = v_issue_id
     where h.worker_class = v_row.worker_class and h.worker = v_row.worker;
    perform queue.note_heartbeat(v_row.worker_class, v_row.worker, v_row.status, 'silent', v_issue_id, p_principal);
    v_silent := v_silent || jsonb_build_object('worker_class', v_row.worker_class, 'worker', v_row.worker, 'issue_id', v_issue_id);
  end loop;
  for v_row in
    select h.worker_class, h.worker, h.issue_id
      from queue.queue_heartbeat h join governance.system_issues i on i.issue_id = h.issue_id
     where h.status = 'silent' and i.state not in ('open', 'acknowledged')
       for update of h skip locked
  loop
    delete from queue.queue_heartbeat h where h.worker_class = v_row.worker_class and h.worker = v_row.worker;
    perform queue.note_heartbeat(v_row.worker_class, v_row.worker, 'silent', null, v_row.issue_id, p_principal);
    v_forgotten := v_forgotten + 1;
  end loop;
  return jsonb_build_object('silent', v_silent, 'forgotten', v_forgotten);
end
$$;
