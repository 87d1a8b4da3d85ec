-- promise: from when to when what a reference of a summary names was; null when nothing of that name exists.
create or replace function governance.ref_span(p_ref text) returns tstzrange
language plpgsql stable
as $$
declare
  v_kind text := split_part(p_ref, ':', 1);
  v_rest text := substr(p_ref, length(v_kind) + 2);
  v_id uuid := internal.uuid_or_null(split_part(v_rest, '/', 1));
  v_from timestamptz;
  v_to timestamptz;
begin
  case v_kind
    when 'event' then
      v_from := (governance.find_event(internal.uuid_or_null(v_rest)) ->> 'at')::timestamptz;
      v_to := v_from;
    when 'log' then
      if split_part(v_rest, '/', 2) ~ '^[0-9]{1,15}$' then
        select l.at, l.at into v_from, v_to from fsm.transition_log l where l.run_id = v_id and l.seq = split_part(v_rest, '/', 2)::bigint;
      end if;
    when 'job' then
      select min(j.created_at), max(j.ended_at) into v_from, v_to
        from (select q.created_at, q.last_transition_at as ended_at from queue.job_queue q where q.job_id = v_id
              union all select f.created_at, f.finished_at from queue.job_finished f where f.job_id = v_id
              union all select d.created_at, d.died_at from queue.job_dead_letter d where d.job_id = v_id) j;
    when 'heartbeat' then
      select h.registered_at, greatest(h.last_tick_at, h.silent_since) into v_from, v_to
        from queue.queue_heartbeat h
       where h.worker_class = split_part(v_rest, '/', 1) and h.worker = substr(v_rest, length(split_part(v_rest, '/', 1)) + 2);
      if not found then
        select min(s.at), max(s.at) into v_from, v_to
          from queue.heartbeat_series s
         where s.worker_class = split_part(v_rest, '/', 1) and s.worker = substr(v_rest, length(split_part(v_rest, '/', 1)) + 2);
      end if;
    when 'refused' then
      if v_rest ~ '^[0-9]{1,18}$' then
        select a.at, a.at into v_from, v_to from event.event_validation_audit a where a.audit_id = v_rest::bigint;
      end if;
    when 'unit' then
      select u.at, u.at into v_from, v_to from iu.iu_lifecycle_log u where u.lifecycle_log_id = v_id;
    else
      return null;
  end case;
  return case when v_from is not null then tstzrange(v_from, greatest(v_from, v_to), '[]') end;
end
$$;
