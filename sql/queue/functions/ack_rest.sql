-- promise: what is left of a batch of results once the plain successes are recorded: failures, outcomes of replays, repetitions and
--          results that came too late. Completes the report of queue.ack.
create or replace function queue.ack_rest(
  p_owner text, p_job_ids uuid[], p_lease_nos integer[], p_outcomes text[], p_details jsonb[], p_done integer, p_replays integer, p_now timestamptz
) returns jsonb
language plpgsql
as $$
declare
  v_failed uuid[] := '{}';
  v_finished record;
  v_refused jsonb;
begin
  if p_replays > 0 then
    for v_finished in
      select f.replay_request_id, f.result from unnest(p_job_ids) g, lateral (
        select f.* from queue.job_finished f where f.job_id = g and f.finished_at = p_now and f.replay_request_id is not null limit 1) f
    loop
      perform queue.replay_ended(v_finished.replay_request_id, 'succeeded', v_finished.result);
    end loop;
  end if;
  if 'failed' = any (p_outcomes) or 'failed_for_good' = any (p_outcomes) then
    v_failed := queue.settle_failures(p_owner, p_job_ids, p_lease_nos, p_outcomes, p_details, p_now);
  end if;
  -- Whatever was taken by neither is a repetition of the same worker's report, or too late.
  select coalesce(jsonb_agg(r.facts) filter (where not r.is_repetition), '[]') into v_refused
    from (select queue.is_repetition(g.job_id, g.lease_no, g.outcome, p_owner) as is_repetition,
                 jsonb_build_object('job_id', g.job_id, 'lease_no', g.lease_no, 'code', case when s.state is null then 'RE011' else 'RE010' end,
                                    'problem', case when s.state is null then 'job_unknown' else 'lease_lost' end,
                                    'state', s.state, 'newest_lease_no', s.lease_no) as facts
            from unnest(p_job_ids, p_lease_nos, p_outcomes) g (job_id, lease_no, outcome)
            left join lateral (
              select q.state, q.lease_no from queue.job_queue q where q.job_id = g.job_id
              union all select f.state, f.lease_no from queue.job_finished f where f.job_id = g.job_id limit 1) s on true
           where g.job_id <> all (v_failed)
             and not (g.outcome = 'succeeded' and exists (
                   select from queue.job_finished f where f.job_id = g.job_id and f.finished_at = p_now and f.lease_no = g.lease_no and f.lease_owner = p_owner))) r;
  return jsonb_build_object('accepted', p_done + cardinality(v_failed), 'refused', v_refused,
    -- also what stands in the batch twice
    'replayed', cardinality(p_job_ids) - p_done - cardinality(v_failed) - jsonb_array_length(v_refused));
end
$$;
