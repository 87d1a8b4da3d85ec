-- promise: what is wrong with requests for jobs, each problem with the number of its request; null when nothing is.
create or replace function queue.request_problems(p_jobs queue.job_request[]) returns jsonb
language plpgsql stable
as $$
declare
  v_unknown jsonb;
  v_malformed jsonb;
  v_payloads jsonb;
begin
  select jsonb_agg(distinct to_jsonb(j.class)) into v_unknown
    from unnest(p_jobs) j
   where not exists (select from queue.executor_class_registry c where c.executor_class = j.class and c.active);
  if v_unknown is not null then
    return queue.class_unknown(v_unknown);
  end if;
  select jsonb_agg(jsonb_build_object('job', j.no, 'member', j.member)) into v_malformed
    from (select q.no, case when internal.is_blank(q.kind) or octet_length(q.kind) > 200 then 'kind'
                            when internal.is_blank(q.key) or octet_length(q.key) > 200 then 'key'
                            when q.priority < 0 then 'priority'
                            when q.delay_ms < 0 or q.delay_ms > 315360000000 or (q.delay_ms is not null and q.run_at is not null) then 'delay_ms'
                            when not isfinite(q.run_at) then 'run_at'
                            when q.max_attempts < 1 or q.max_attempts > 1000 then 'max_attempts'
                            when q.trace_id !~ '^[0-9a-f]{32}$' or q.trace_id ~ '^0+$' then 'trace_id'
                            when jsonb_typeof(q.payload) <> 'object' then 'payload'
                            when greatest(octet_length(q.payload_ref), octet_length(q.source_ref), octet_length(q.target_ref), octet_length(q.correlation_id)) > 1000
                            then 'payload_ref, source_ref, target_ref or correlation_id' end as member
            from unnest(p_jobs) with ordinality q (class, kind, key, payload, payload_ref, source_ref, target_ref, priority, run_at, delay_ms,
                                                   max_attempts, trace_id, correlation_id, causation_event_id, replay_request_id, no)) j
   where j.member is not null;
  if v_malformed is not null then
    return internal.problem('RE007', jsonb_build_object('malformed', v_malformed));
  end if;
  select jsonb_agg(jsonb_build_object('key', j.key, 'breaks', p.breaks)) into v_payloads
    from unnest(p_jobs) j join queue.executor_class_registry c on c.executor_class = j.class,
         lateral (select queue.payload_breaks(j.payload, c.max_payload_bytes) as breaks) p
   where j.payload <> '{}' and p.breaks is not null;
  if v_payloads is not null then
    return internal.problem('RE008', jsonb_build_object('payloads', v_payloads));
  end if;
  return null;
end
$$;
