-- promise: the newest summary of the executor class says how many jobs it did in the last window, how many it failed for good and how long
--          they waited (sql_fn); true when that had to be written. Without a job there is nothing to say.
-- callers: governance.fn_summaries_run
create or replace function governance.summarize_executor(p_class text, p_principal text) returns boolean
language plpgsql
as $$
declare
  v_prior governance.status_summary := governance.newest_summary('executors', p_class);
  v_end timestamptz := internal.now();
  v_start timestamptz := v_end - make_interval(secs => (select (c.value #>> '{}')::double precision from config.dot_config c where c.key = 'summary.window_seconds'));
  v_jobs bigint;
  v_errors bigint;
  v_lag numeric;
  v_refs jsonb;
  v_state text;
  v_event uuid;
  v_facts jsonb;
  v_words jsonb;
  v_report jsonb;
begin
  select count(*) filter (where not w.dead), count(*) filter (where w.dead),
         coalesce(round((percentile_cont(0.95) within group (order by w.waited))::numeric, 1), 0),
         to_jsonb((array_agg('job:' || w.job_id order by w.dead desc, w.ended_at, w.job_id))[1:100])
    into v_jobs, v_errors, v_lag, v_refs
    from (select f.job_id, false as dead, f.finished_at as ended_at, extract(epoch from f.picked_at - f.created_at) as waited
            from queue.job_finished f where f.executor_class = p_class and f.finished_at >= v_start and f.finished_at <= v_end
          union all
          select d.job_id, true, d.died_at, null from queue.job_dead_letter d
           where d.executor_class = p_class and d.died_at >= v_start and d.died_at <= v_end) w;
  v_facts := jsonb_build_object('jobs', v_jobs, 'errors', v_errors, 'lag_p95_seconds', v_lag);
  if v_jobs + v_errors = 0 or v_prior.facts = internal.canonical_json(v_facts) then
    return false;
  end if;
  v_state := case when governance.still_sees('executors', p_class) then 'red' else 'green' end;
  if v_state = 'green' and v_prior.state in ('red', 'yellow') then
    -- What ended the trouble: a dead letter was settled, or a silent worker of the class ticks again. Without it nobody knows that it ended.
    select e.log_id into v_event
      from (select l.log_id, l.at from queue.job_dead_letter d join fsm.transition_log l on l.run_id = d.job_id
             where d.executor_class = p_class and l.to_state = 'cleaned' and l.at > v_prior.created_at
            union all
            select l.log_id, l.at from governance.system_issues i join fsm.transition_log l on l.run_id = i.issue_id and l.seq = i.seq
             where i.issue_type = 'worker_silent' and starts_with(i.entity_code, p_class || '/') and i.state not in ('open', 'acknowledged')
               and l.at > v_prior.created_at) e
     where governance.resolves(e.log_id, 'executors', p_class, v_prior.created_at)
     order by e.at desc limit 1;
    v_state := case when v_event is not null then 'green' else 'yellow' end;
  end if;
  v_words := jsonb_build_object('jobs', v_jobs, 'errors', v_errors, 'lag', v_lag);
  v_report := governance.put_summary(
    jsonb_build_object(
      'category', 'executors', 'subject', p_class, 'state', v_state,
      'text_en', governance.words('summary.executors.' || v_state, 'en', v_words), 'text_vi', governance.words('summary.executors.' || v_state, 'vi', v_words),
      'facts', v_facts, 'source_event_count', v_jobs + v_errors, 'source_event_total', v_jobs + v_errors, 'source_event_refs', v_refs,
      'time_window', jsonb_build_object('start_at', internal.rfc3339(v_start), 'end_at', internal.rfc3339(v_end)),
      'generated_by', jsonb_build_object('summarizer_kind', 'sql_fn', 'summarizer_ref', 'governance.summarize_executor', 'summarizer_version', '1'),
      'resolved_by', v_event),
    p_principal, 'executor/' || p_class || '/' || internal.micros(v_end));
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return true;
end
$$;
