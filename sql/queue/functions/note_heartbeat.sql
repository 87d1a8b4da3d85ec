-- promise: a change of a worker's status stands in the series.
create or replace function queue.note_heartbeat(
  p_worker_class text, p_worker text, p_from text, p_to text, p_issue_id uuid, p_principal text
) returns void
language sql
as $$
  insert into queue.heartbeat_series (at, worker_class, worker, from_status, to_status, issue_id, principal)
  values (internal.now(), p_worker_class, p_worker, p_from, p_to, p_issue_id, p_principal)
$$;
