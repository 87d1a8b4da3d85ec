-- promise: the head of the pages of runs, steps and tasks. A run names its decisive step, unless the reader may not see it; from what is kept
--          on the run, so that a long run costs what a short one does.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RW001
create or replace function governance.headline_runs(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_id uuid := internal.uuid_or_null(p_subject);
  v_runs record;
  v_run record;
  v_step record;
  v_work record;
  v_label text;
  v_tone text;
  v_sentence text;
  v_held bigint;
  v_hidden text[];
begin
  perform identity.require_permission(p_reader, 'workflow.read');
  if p_page = 'runs' then
    select count(*) as open, count(*) filter (where r.rollup_state_code = 'red') as red, count(*) filter (where r.rollup_state_code = 'yellow') as yellow,
           (array_agg(r.workflow_run_id order by r.rollup_state_code = 'red' desc, r.rollup_state_code = 'yellow' desc, r.created_at)
             filter (where r.rollup_state_code in ('red', 'yellow')))[1] as worst into v_runs
      from workflow.workflow_run r where r.state_code not in ('completed', 'cancelled');
    return governance.say(
      p_locale, case when v_runs.red > 0 then 'bad' when v_runs.yellow > 0 then 'warn' when v_runs.open > 0 then 'good' else 'plain' end,
      governance.counted('headline.runs', v_runs.open, p_locale)
      || case when v_runs.red > 0 then ' ' || governance.counted('headline.runs.red', v_runs.red, p_locale) else '' end
      || case when v_runs.yellow > 0 then ' ' || governance.counted('headline.runs.yellow', v_runs.yellow, p_locale) else '' end
      || case when v_runs.open > 0 and v_runs.worst is null then ' ' || governance.words('headline.runs.well', p_locale) else '' end,
      case when v_runs.worst is not null then 'open_worst' when identity.permits(p_reader, 'workflow.run') then 'start_run' else 'see_workflows' end,
      coalesce('/runs/' || internal.prefixed('wfr', v_runs.worst), '/workflows'));
  end if;
  if p_page = 'run' then
    select r.workflow_run_id, r.workflow, r.state_machine_id, r.state_code, r.rollup_state_code as colour, r.mandatory_count as total, r.completed_count as done,
           r.decisive_step_run_id, r.decisive_state_code, r.last_transition_at, r.last_rollup_at into v_run
      from workflow.workflow_run r where r.workflow_run_id = v_id;
    if not found then
      perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_run', 'id', coalesce(v_id::text, left(p_subject, 200)))));
    end if;
    v_sentence := governance.words('headline.run.done', p_locale, jsonb_build_object(
      'done', governance.number_words(v_run.done, p_locale), 'total', governance.number_words(v_run.total, p_locale),
      'percent', case when v_run.total = 0 then 100 else v_run.done * 100 / v_run.total end));
    if v_run.state_code not in ('not_started', 'in_progress') then
      return governance.say(
        p_locale, case v_run.state_code when 'completed' then 'good' when 'cancelled' then 'bad' else 'warn' end,
        governance.words('headline.run.' || v_run.state_code, p_locale, jsonb_build_object('workflow', v_run.workflow, 'age', governance.age_words(v_run.last_transition_at, p_locale)))
        || ' ' || v_sentence, 'see_workflow', '/workflows/' || v_run.workflow);
    end if;
    select s.step_run_id, case p_locale when 'vi' then d.name_vi else d.name_en end as name, s.step_no, s.state_machine_id, s.state_code, s.last_transition_at,
           workflow.fn_work_seen('step', s.step_run_id, p_reader) as seen into v_step
      from workflow.step_run s join workflow.workflow_step_def d using (step_def_id) where s.step_run_id = v_run.decisive_step_run_id;
    if v_run.colour not in ('red', 'yellow') or v_step.step_run_id is null then
      return governance.say(p_locale, case v_run.colour when 'green' then 'good' else 'plain' end,
        governance.words('headline.run.' || case v_run.colour when 'green' then 'well' else 'begun' end, p_locale, jsonb_build_object('workflow', v_run.workflow)) || ' ' || v_sentence);
    end if;
    v_hidden := workflow.hidden_of_run(v_id, p_reader);
    select count(*) into v_held from workflow.fn_workflow_downstream(v_id) d join workflow.step_run s on s.step_run_id = d.step_run_id where s.step_key <> all (v_hidden);
    return governance.say(
      p_locale, case v_run.colour when 'red' then 'bad' else 'warn' end,
      governance.words('headline.run.' || v_run.colour, p_locale, jsonb_build_object(
        'workflow', v_run.workflow, 'age', governance.age_words(v_step.last_transition_at, p_locale),
        'step', case when v_step.seen then governance.words('headline.step.named', p_locale, jsonb_build_object('no', v_step.step_no, 'name', v_step.name))
                     else governance.words('rollup.sentence.hidden_step', p_locale) end,
        'state', case when v_run.colour = 'red' and coalesce(v_run.decisive_state_code, v_step.state_code) in ('ready', 'in_progress', 'waiting')
                      -- Red in a state that is not: it is late.
                      then governance.words('headline.work.late', p_locale)
                      else (select lower(translate(left(w.label, 1), 'ĐÂĂÊÔƠƯ', 'đâăêôơư')) || substr(w.label, 2) from governance.state_words(v_step.state_machine_id, coalesce(v_run.decisive_state_code, v_step.state_code), p_locale) w) end))
      || ' ' || v_sentence || case when v_held > 0 then ' ' || governance.counted('headline.run.held', v_held, p_locale) else '' end,
      case when v_step.seen then 'go_to_cause' end, '/runs/' || internal.prefixed('wfr', v_id) || '?step=' || internal.prefixed('stp', v_step.step_run_id));
  end if;
  -- A step or a task: what it is, in whose charge, and until when.
  if v_id is null or not workflow.fn_work_seen(p_page, v_id, p_reader) then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', p_page, 'id', coalesce(v_id::text, left(p_subject, 200)))));
  end if;
  if p_page = 'step' then
    select s.step_run_id, s.workflow_run_id, s.state_machine_id, s.state_code, s.facet, s.skipped, s.pic_id, s.executor_class_ref, s.deadline, s.block_reason,
           s.last_transition_at, case p_locale when 'vi' then d.name_vi else d.name_en end as name into v_work
      from workflow.step_run s join workflow.workflow_step_def d using (step_def_id) where s.step_run_id = v_id;
  else
    select t.step_run_id, t.workflow_run_id, t.state_machine_id, t.state_code, t.facet, t.skipped, t.pic_id, t.executor_class_ref, t.deadline, t.block_reason,
           t.last_transition_at, case p_locale when 'vi' then d.name_vi else d.name_en end as name into v_work
      from workflow.task_run t join workflow.workflow_task_def d using (task_def_id) where t.task_run_id = v_id;
  end if;
  select w.label, w.tone into v_label, v_tone from governance.state_words(v_work.state_machine_id, v_work.state_code, p_locale) w;
  v_sentence := governance.words('headline.work.' || case when v_work.skipped then 'skipped' else v_work.state_code end, p_locale, jsonb_build_object(
    'name', v_work.name, 'label', v_label, 'age', governance.age_words(v_work.last_transition_at, p_locale),
    'reason', coalesce((select m.text from config.message m where m.message_key = 'block_reason.' || v_work.block_reason and m.locale = p_locale), v_work.block_reason, ''),
    'facet', coalesce((select m.text from fsm.state_facet_def f join config.message m on m.message_key = f.ui_label_i18n_key and m.locale = p_locale
                        where f.state_machine_id = v_work.state_machine_id and f.state_code = v_work.state_code and f.facet_code = v_work.facet), '')));
  if v_work.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue', 'failed') and not v_work.skipped then
    v_sentence := v_sentence || case
      when v_work.pic_id is not null then ' ' || governance.words('headline.work.pic', p_locale, jsonb_build_object('pic', v_work.pic_id))
      when v_work.executor_class_ref = 'human' and v_work.state_code = 'ready' then ' ' || governance.words('headline.work.free', p_locale) else '' end;
    if v_work.deadline is not null and v_work.state_code <> 'failed' then
      v_sentence := v_sentence || ' ' || governance.words(case when v_work.deadline < internal.now() then 'headline.work.was_due' else 'headline.work.due' end, p_locale,
        jsonb_build_object('due', governance.due_words(v_work.deadline, p_locale)));
      v_tone := case when v_work.deadline < internal.now() then 'bad' else v_tone end;
    end if;
  end if;
  return governance.say(p_locale, v_tone, v_sentence, 'see_in_run',
    '/runs/' || internal.prefixed('wfr', v_work.workflow_run_id) || '?step=' || internal.prefixed('stp', v_work.step_run_id));
end
$$;
