-- promise: what waits for the reader, the nearest deadline first, each with the one thing to do about it, in words; then what is open and not
--          theirs to decide, with the reason. Judged by the functions that judge the deed itself; nothing that the reader may not see. Changes nothing.
-- callers: chancery_app, for pages and programs that show what can be done
create or replace function approval.fn_inbox(p_reader text, p_limit integer) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_time constant text := 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"';
  -- What is done next, where several things could be.
  v_first constant text[] := '{step_claim,task_claim,blocker_resolved,step_reengage,task_reengage,step_complete,task_complete}';
  v_answering constant text[] := '{pic_human,task_pic_human,reviewer,sovereign,escalation_handler}';
  v_classes text[];
  v_class text;
  v_extending text;
  v_now constant timestamptz := internal.now();
  v_row record;
  v_item jsonb;
  v_action jsonb;
  v_mine jsonb := '[]';
  v_others jsonb := '[]';
begin
  select p.actor_classes into v_classes from identity.principal p where p.name = p_reader and p.active;
  if not found then
    return jsonb_build_object('waiting', v_mine, 'waiting_count', 0, 'not_mine', v_others, 'not_mine_count', 0);
  end if;

  if identity.permits(p_reader, 'approval.read') then
    for v_row in
      select r.approval_id, r.kind, r.subject_kind, r.subject_ref, r.title, r.requested_at, r.expires_at
        from approval.approval_request r
       where r.expires_at > internal.now() and approval.state(r.approval_id) = 'pending'
         -- Who has voted waits for the others.
         and not exists (select from approval.approval_vote v where v.approval_id = r.approval_id and v.voter = p_reader)
    loop
      v_item := jsonb_build_object(
        'kind', 'approval', 'id', v_row.approval_id, 'title', v_row.title, 'about', v_row.kind || ' ' || v_row.subject_ref,
        'since', to_char(v_row.requested_at at time zone 'UTC', v_time), 'deadline', to_char(v_row.expires_at at time zone 'UTC', v_time));
      -- The name goes into a command that somebody runs, so it is the name of a run and not what somebody wrote.
      if v_row.subject_kind = 'orchestrator_run' and exists (select from orchestrator.run o where o.run_name = v_row.subject_ref) then
        -- A gate is passed by a document, a vote and a decision at once, behind the login of the reviewers.
        v_action := jsonb_build_object(
          'name', 'approve', 'label', 'approve', 'to', 'approved', 'actor_class', 'sovereign', 'allowed', false, 'needs', '[]'::jsonb,
          'problems', internal.problem('RI004', jsonb_build_object(
            'login', session_user, 'actor_class', 'review_authority',
            'run', format('cutter orchestrate approve --run-id %s --as %s', v_row.subject_ref, p_reader))));
        v_item := v_item || jsonb_build_object('kind', 'gate', 'action', v_action);
        if 'sovereign' = any (v_classes) then
          v_mine := v_mine || v_item;
        else
          v_others := v_others || jsonb_set(v_item, '{action}', v_action || jsonb_build_object(
            'problems', internal.problem('RI003', jsonb_build_object('principal', p_reader, 'actor_class', 'sovereign'))));
        end if;
        continue;
      end if;
      select a into v_action from jsonb_array_elements(approval.fn_approval_actions(v_row.approval_id, p_reader)) with ordinality x (a, n)
       order by a -> 'allowed' = 'true' desc, n limit 1;
      v_item := v_item || jsonb_build_object('action', v_action);
      if v_action -> 'allowed' = 'true' then
        v_mine := v_mine || v_item;
      else
        v_others := v_others || v_item;
      end if;
    end loop;
  end if;

  if identity.permits(p_reader, 'workflow.read') then
    select c into v_extending from unnest('{pic_human,reviewer,escalation_handler}'::text[]) with ordinality x (c, n) where c = any (v_classes) order by n limit 1;
    for v_row in
      with open_run as materialized (
        select r.workflow_run_id, r.workflow, false as is_over from workflow.workflow_run r where r.state_code in ('not_started', 'in_progress')
        union all
        -- What was opened again for correction is somebody's also where its run stays completed: it was optional.
        select distinct r.workflow_run_id, r.workflow, true
          from workflow.step_run_correction_cycle c
          join workflow.step_run s on s.step_run_id = c.run_id
          join workflow.workflow_run r on r.workflow_run_id = s.workflow_run_id and r.state_code = 'completed'
         where c.completed_at is null
      ), work as (
        select 'step' as run_kind, s.step_run_id as run_id, s.workflow_run_id, s.step_def_id, d.name_en, d.name_vi, d.pic_rule, s.pic_id, s.state_code,
               s.executor_class_ref, s.skipped, s.deadline, s.last_transition_at, s.cycle_no
          from workflow.step_run s join workflow.workflow_step_def d using (step_def_id)
        union all
        select 'task', t.task_run_id, t.workflow_run_id, d.step_def_id, d.name_en, d.name_vi, d.pic_rule, t.pic_id, t.state_code,
               t.executor_class_ref, t.skipped, t.deadline, t.last_transition_at, t.cycle_no
          from workflow.task_run t join workflow.workflow_task_def d using (task_def_id)
      )
      select w.*, r.workflow, l.is_late from work w join open_run r using (workflow_run_id),
             lateral (select workflow.is_past_deadline(w.state_code, w.deadline, v_now) as is_late) l
       where not w.skipped and (not r.is_over or w.cycle_no > 0)
         and (w.executor_class_ref = 'human'
              and (w.state_code in ('ready', 'in_progress', 'blocked', 'overdue') and w.pic_id = p_reader
                   or w.state_code = 'ready' and w.pic_id is null and w.pic_rule ->> 'class' = any (v_classes))
              -- Late work is in the inbox of who is in charge also while it waits, or is a worker's or a sub-workflow's.
              or l.is_late and (w.pic_id = p_reader or w.pic_id is null and w.pic_rule ->> 'class' = any (v_classes)))
         and (not exists (select from workflow.workflow_step_permission m where m.step_def_id = w.step_def_id)
              or exists (select from workflow.workflow_step_permission m where m.step_def_id = w.step_def_id and m.actor_class = any (v_classes)))
    loop
      select a into v_action from jsonb_array_elements(fsm.fn_actions(v_row.run_kind, v_row.run_id, p_reader)) a
       where a ->> 'name' = any (v_first)
       order by a -> 'allowed' = 'true' desc, array_position(v_first, a ->> 'name') limit 1;
      -- What cannot be moved by hand can still be given more time.
      if v_row.is_late and v_extending is not null and (v_action is null or v_action -> 'allowed' = 'false') then
        v_action := jsonb_build_object(
          'name', 'extend', 'label', 'extend', 'to', v_row.state_code, 'actor_class', v_extending, 'allowed', true, 'problems', '[]'::jsonb,
          'needs', '[{"field": "deadline"}, {"field": "reason"}]'::jsonb);
      end if;
      continue when v_action is null;
      v_item := jsonb_build_object(
        'kind', v_row.run_kind, 'id', v_row.run_id, 'title', v_row.name_en, 'title_vi', v_row.name_vi, 'about', v_row.workflow,
        'workflow_run_id', v_row.workflow_run_id, 'since', to_char(v_row.last_transition_at at time zone 'UTC', v_time),
        'deadline', to_char(v_row.deadline at time zone 'UTC', v_time), 'action', v_action);
      if v_action -> 'allowed' = 'true' then
        v_mine := v_mine || v_item;
      else
        v_others := v_others || v_item;
      end if;
    end loop;

    select c into v_class from unnest(v_answering) with ordinality x (c, n) where c = any (v_classes) order by n limit 1;
    for v_row in
      select w.*, d.name_en, d.name_vi, k.deadline, r.workflow
        from workflow.wait w, lateral workflow.peek(w.run_kind, w.run_id) k, workflow.workflow_run r, lateral (
               select d.name_en, d.name_vi, d.step_def_id from workflow.workflow_step_def d where w.run_kind = 'step' and d.step_def_id = k.def_id
               union all
               select d.name_en, d.name_vi, d.step_def_id from workflow.workflow_task_def d where w.run_kind = 'task' and d.task_def_id = k.def_id) d
       where w.resolved_at is null and w.subject_kind = 'person' and w.subject_ref is not null and r.workflow_run_id = w.workflow_run_id
         and r.state_code in ('not_started', 'in_progress')
         and workflow.wait_objection((select x from workflow.wait x where x.wait_id = w.wait_id), k, p_reader, v_class) is null
         and (not exists (select from workflow.workflow_step_permission m where m.step_def_id = d.step_def_id)
              or exists (select from workflow.workflow_step_permission m where m.step_def_id = d.step_def_id and m.actor_class = any (v_classes)))
    loop
      v_mine := v_mine || jsonb_build_object(
        'kind', 'wait', 'id', v_row.wait_id, 'title', v_row.name_en, 'title_vi', v_row.name_vi, 'about', v_row.workflow,
        'workflow_run_id', v_row.workflow_run_id, 'since', to_char(v_row.issued_at at time zone 'UTC', v_time),
        'deadline', to_char(coalesce(v_row.until, v_row.deadline) at time zone 'UTC', v_time),
        'action', jsonb_build_object('name', 'answer', 'label', 'answer', 'to', 'in_progress', 'actor_class', v_class, 'allowed', true, 'problems', '[]'::jsonb,
                                     'needs', '[]'::jsonb));
    end loop;
  end if;

  -- What a thing to do is called, not which row of a machine it is.
  select coalesce(jsonb_agg(jsonb_set(i, '{action}', i -> 'action' || approval.call_label(i #>> '{action,name}')) order by n), '[]') into v_mine
    from jsonb_array_elements(v_mine) with ordinality x (i, n);
  select coalesce(jsonb_agg(jsonb_set(i, '{action}', i -> 'action' || approval.call_label(i #>> '{action,name}')) order by n), '[]') into v_others
    from jsonb_array_elements(v_others) with ordinality x (i, n);
  return jsonb_build_object(
    'waiting', (select coalesce(jsonb_agg(i order by i ->> 'deadline' nulls last, i ->> 'since', i ->> 'id'), '[]')
                  from (select i from jsonb_array_elements(v_mine) i order by i ->> 'deadline' nulls last, i ->> 'since', i ->> 'id' limit p_limit) x),
    'waiting_count', jsonb_array_length(v_mine),
    'not_mine', (select coalesce(jsonb_agg(i order by i ->> 'deadline' nulls last, i ->> 'since', i ->> 'id'), '[]')
                   from (select i from jsonb_array_elements(v_others) i order by i ->> 'deadline' nulls last, i ->> 'since', i ->> 'id' limit p_limit) x),
    'not_mine_count', jsonb_array_length(v_others));
end
$$;
