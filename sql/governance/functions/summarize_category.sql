-- promise: the newest summary of the category says what its view shows now (deterministic_rule); true when that had to be written. While the
--          category has problems there is a finding about it, and the event that heals it is what turns the summary green.
-- callers: governance.fn_summaries_run
create or replace function governance.summarize_category(p_category text, p_principal text) returns boolean
language plpgsql
as $$
declare
  v_prior governance.status_summary := governance.newest_summary(p_category, '*');
  v_now timestamptz := internal.now();
  v_count bigint;
  v_critical bigint;
  v_causes jsonb;
  v_refs jsonb;
  v_start timestamptz;
  v_state text;
  v_facts jsonb;
  v_issue uuid;
  v_seq bigint;
  v_event uuid;
  v_report jsonb;
begin
  select coalesce(sum(k.count), 0), coalesce(sum(k.critical), 0),
         coalesce(jsonb_agg(jsonb_build_object('cause', k.cause, 'count', k.count) order by k.count desc, k.cause) filter (where k.n <= 10), '[]')
    into v_count, v_critical, v_causes
    from (select p.cause, count(*) as count, count(*) filter (where p.severity = 'critical') as critical, row_number() over (order by count(*) desc, p.cause) as n
            from governance.vw_problem p where p.category = p_category group by p.cause) k;
  v_state := case when v_count = 0 then 'green' when v_critical > 0 then 'red' else 'yellow' end;
  v_facts := jsonb_build_object('count', v_count, 'critical', v_critical, 'causes', v_causes);
  if v_state = 'green' then
    if v_prior.summary_id is null or v_prior.state = 'green' then
      return false;
    end if;
    perform governance.issue_close('category_in_trouble', 'category', p_category, 'healed', 'the category has no problem any more', p_principal,
                                   jsonb_build_object('measured', v_facts));
    -- Healed now, or settled by a person before.
    select l.run_id, l.seq, l.log_id, l.at into v_issue, v_seq, v_event, v_start
      from governance.system_issues i join fsm.transition_log l on l.run_id = i.issue_id and l.seq = i.seq
     where i.fingerprint = governance.fingerprint('category_in_trouble', 'category', p_category, null, null) and i.state in ('healed', 'resolved')
       and l.at > v_prior.created_at
     order by l.at desc limit 1;
    if not found then
      return false;
    end if;
    v_refs := jsonb_build_array('log:' || v_issue || '/' || v_seq);
    v_count := 1;
    v_now := internal.now();
  else
    if v_prior.state = v_state and v_prior.facts = internal.canonical_json(v_facts) then
      return false;
    end if;
    v_issue := governance.require_open(
      'summaries', case when v_critical > 0 then 'critical' else 'warning' end, 'category_in_trouble', p_category,
      format('%s has problems', p_category), null, 'category', p_category, jsonb_build_object('category', p_category, 'count', v_count, 'critical', v_critical), p_principal);
    select jsonb_agg(t.source_ref), least(min(t.since), min(t.begun)) into v_refs, v_start
      from (select p.source_ref, p.since, lower(governance.ref_span(p.source_ref)) as begun from (
              select q.source_ref, min(q.since) as since from governance.vw_problem q
               where q.category = p_category and q.source_ref is not null group by q.source_ref order by 2, 1 limit 100) p) t
     where t.begun is not null;
    if v_refs is null then
      -- Seen, and nothing has been written about it yet but the finding.
      v_refs := jsonb_build_array('log:' || v_issue || '/1');
      v_start := (select i.first_seen_at from governance.system_issues i where i.issue_id = v_issue);
    end if;
    v_count := greatest(v_count, jsonb_array_length(v_refs));
    v_now := internal.now();
  end if;
  v_report := governance.put_summary(
    jsonb_build_object(
      'category', p_category, 'subject', '*', 'state', v_state,
      'text_en', governance.words('summary.category.' || v_state, 'en', v_facts - 'causes' || jsonb_build_object(
        'n', v_facts -> 'count', 'name', governance.words('problem.' || p_category || '.name', 'en'))),
      'text_vi', governance.words('summary.category.' || v_state, 'vi', v_facts - 'causes' || jsonb_build_object(
        'n', v_facts -> 'count', 'name', governance.words('problem.' || p_category || '.name', 'vi'))),
      'facts', v_facts, 'source_event_count', v_count, 'source_event_total', v_count, 'source_event_refs', v_refs,
      'time_window', jsonb_build_object('start_at', internal.rfc3339(least(v_start, v_now)), 'end_at', internal.rfc3339(v_now)),
      'generated_by', jsonb_build_object('summarizer_kind', 'deterministic_rule', 'summarizer_ref', 'governance.summarize_category', 'summarizer_version', '1'),
      'resolved_by', v_event),
    p_principal, 'category/' || p_category || '/' || internal.micros(v_now));
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return true;
end
$$;
