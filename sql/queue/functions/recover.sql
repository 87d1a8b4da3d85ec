-- promise: a silent worker that has just ticked well is ok, and its finding closed as recovered. Where a person closed the finding
--          before, the worker is known anew instead: there is nothing left to recover from.
-- callers: queue.fn_heartbeat_tick, which holds the worker's row
-- locks: the worker's finding (update)
create or replace function queue.recover(p_worker_class text, p_worker text, p_principal text) returns jsonb
language plpgsql
as $$
declare
  v_row queue.queue_heartbeat;
  v_recovered boolean;
begin
  select h.* into strict v_row from queue.queue_heartbeat h where h.worker_class = p_worker_class and h.worker = p_worker;
  v_recovered := governance.close_finding(
    v_row.issue_id, 'recovered',
    jsonb_build_object('worker_class', p_worker_class, 'worker', p_worker, 'ticked_at', v_row.last_tick_at, 'silent_since', v_row.silent_since), p_principal);
  if v_recovered then
    update queue.queue_heartbeat h set status = 'ok', issue_id = null, silent_since = null
     where h.worker_class = p_worker_class and h.worker = p_worker;
  else
    delete from queue.queue_heartbeat h where h.worker_class = p_worker_class and h.worker = p_worker;
    insert into queue.queue_heartbeat (worker_class, worker, executor_kind, status, last_tick_at, last_ok_at, ticks_total, metadata, registered_at)
    values (p_worker_class, p_worker, v_row.executor_kind, 'ok', v_row.last_tick_at, v_row.last_ok_at, v_row.ticks_total, v_row.metadata, v_row.registered_at);
  end if;
  perform queue.note_heartbeat(p_worker_class, p_worker, 'silent', 'ok', v_row.issue_id, p_principal);
  return jsonb_build_object('status', 'ok', 'was', 'silent', 'recovered', v_recovered, 'issue_id', v_row.issue_id);
end
$$;
