-- promise: the head of the pages of problems. The sentence of the first page is the one that the page of problems itself has.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RE040, RE041
create or replace function governance.headline_problems(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_all jsonb;
  v_list jsonb;
  v_category text := split_part(p_subject, '/', 1);
  v_item text := substr(p_subject, strpos(p_subject, '/') + 1);
  v_count bigint;
  v_problem record;
  v_sentence text;
  v_batch uuid;
begin
  if p_page = 'problems' then
    v_all := governance.fn_problems(p_reader);
    return governance.say(
      p_locale, case v_all ->> 'worst' when 'critical' then 'bad' when 'warning' then 'warn' when 'info' then 'plain' else 'good' end,
      v_all ->> case p_locale when 'vi' then 'headline_vi' else 'headline_en' end, 'open_worst',
      '/governance/problems/' || (v_all #>> '{first,category}') || '/' || governance.url_part(v_all #>> '{first,item_id}'));
  end if;
  if p_page = 'category' then
    v_list := governance.fn_problem_list(p_reader, p_subject, null, null, 1);
    select coalesce(sum((g ->> 'count')::bigint), 0) into v_count from jsonb_array_elements(v_list -> 'groups') g;
    if v_count = 0 then
      return governance.say(p_locale, 'good', governance.words('headline.category.none', p_locale, jsonb_build_object(
        'name', governance.words('problem.' || p_subject || '.name', p_locale))), 'all_problems', '/governance/problems');
    end if;
    return governance.say(
      p_locale, case v_list #>> '{groups,0,severity}' when 'critical' then 'bad' when 'warning' then 'warn' else 'plain' end,
      governance.words('headline.category.some', p_locale, jsonb_build_object(
        'name', governance.words('problem.' || p_subject || '.name', p_locale), 'n', governance.number_words(v_count, p_locale),
        'causes', governance.counted('headline.causes', jsonb_array_length(v_list -> 'groups'), p_locale),
        'age', governance.age_words((select min((g ->> 'oldest')::timestamptz) from jsonb_array_elements(v_list -> 'groups') g), p_locale))),
      'open_worst', '/governance/problems/' || p_subject || '/' || governance.url_part(v_list #>> '{items,0,item_id}'));
  end if;
  -- By the door of the page itself: what it would not show is not said.
  v_all := governance.fn_problem_show(p_reader, v_category, v_item);
  select v_all ->> 'severity' as severity, (v_all ->> 'since')::timestamptz as since, v_all ->> ('title_' || p_locale) as title, v_all ->> 'run_kind' as run_kind,
         (v_all ->> 'run_id')::uuid as run_id, v_all #>> '{finding,state}' as finding into v_problem;
  v_sentence := governance.words('headline.problem', p_locale, jsonb_build_object('title', v_problem.title, 'age', governance.age_words(v_problem.since, p_locale)));
  if v_category = 'dlq' then
    select q.batch_id into v_batch from queue.dlq_replay_request q
     where q.job_id = internal.uuid_or_null(v_item) and q.proposal_state in ('submitted', 'scheduled') limit 1;
    v_sentence := v_sentence || ' ' || governance.words(case when v_batch is null then 'headline.problem.no_replay' else 'headline.problem.replay' end, p_locale);
  elsif v_problem.finding is not null then
    v_sentence := v_sentence || ' ' || governance.words('headline.problem.' || v_problem.finding, p_locale);
  end if;
  return governance.say(
    p_locale, case v_problem.severity when 'critical' then 'bad' when 'warning' then 'warn' else 'plain' end, v_sentence,
    case when v_category = 'dlq' then case when v_batch is null then 'propose_replay' else 'see_replay' end
         when v_category = 'silent_worker' then 'see_workers' when v_category = 'event_lag' then 'see_lag' else 'go_there' end,
    case when v_category = 'dlq' then
           case when v_batch is null then '/governance/problems/dlq/' || governance.url_part(v_item) || '#replay' else '/replays/' || internal.prefixed('bat', v_batch) end
         when v_category = 'silent_worker' then '/workers' when v_category = 'event_lag' then '/lag'
         else case v_problem.run_kind
                when 'step' then '/steps/' || internal.prefixed('stp', v_problem.run_id) when 'task' then '/tasks/' || internal.prefixed('tsk', v_problem.run_id)
                when 'workflow_run' then '/runs/' || internal.prefixed('wfr', v_problem.run_id) when 'cut_request' then '/entries/' || internal.prefixed('ent', v_problem.run_id)
                when 'orchestrator_run' then '/orchestrator/' || internal.prefixed('orc', v_problem.run_id) end end);
end
$$;
