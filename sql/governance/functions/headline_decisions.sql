-- promise: the head of the inbox, of a request for approval and of a batch of replays.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RA002
create or replace function governance.headline_decisions(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_id uuid := internal.uuid_or_null(p_subject);
  v_inbox jsonb;
  v_count bigint;
  v_first jsonb;
  v_kind text;
  v_of uuid;
  v_report jsonb;
  v_batch record;
  v_can boolean;
  v_state text;
begin
  if p_page = 'inbox' then
    v_inbox := approval.fn_inbox(p_reader, 1);
    v_count := (v_inbox -> 'waiting_count')::bigint;
    v_first := v_inbox #> '{waiting,0}';
    if v_count = 0 then
      return governance.say(p_locale, 'good', governance.words('headline.inbox.none', p_locale));
    end if;
    if v_first ->> 'kind' = 'wait' then
      select w.run_kind, w.run_id into v_kind, v_of from workflow.wait w where w.wait_id = (v_first ->> 'id')::uuid;
    end if;
    return governance.say(
      p_locale, 'warn',
      governance.counted('headline.inbox', v_count, p_locale, jsonb_build_object(
        'title', coalesce(case p_locale when 'vi' then v_first ->> 'title_vi' end, v_first ->> 'title')))
      || coalesce(' ' || governance.words(case when (v_first ->> 'deadline')::timestamptz < internal.now() then 'headline.inbox.late' else 'headline.inbox.due' end,
           p_locale, jsonb_build_object('due', governance.due_words((v_first ->> 'deadline')::timestamptz, p_locale))), ''),
      case when v_first ->> 'kind' in ('approval', 'gate') then 'review_and_sign' else 'open_first' end,
      case v_first ->> 'kind'
        when 'step' then '/steps/' || internal.prefixed('stp', (v_first ->> 'id')::uuid)
        when 'task' then '/tasks/' || internal.prefixed('tsk', (v_first ->> 'id')::uuid)
        when 'wait' then case v_kind when 'task' then '/tasks/' || internal.prefixed('tsk', v_of) else '/steps/' || internal.prefixed('stp', v_of) end
        else '/approvals/' || internal.prefixed('apr', (v_first ->> 'id')::uuid) end);
  end if;
  if p_page = 'approval' then
    perform identity.require_permission(p_reader, 'approval.read');
    v_report := approval.report(v_id);
    if v_report is null then
      perform internal.refuse(internal.problem('RA002', jsonb_build_object('approval_id', v_id)));
    end if;
    v_state := v_report ->> 'state';
    v_can := exists (select from jsonb_array_elements(approval.fn_approval_actions(v_id, p_reader)) a where a -> 'allowed' = 'true');
    if v_state = 'pending' then
      return governance.say(
        p_locale, case when v_can then 'warn' else 'plain' end,
        governance.counted('headline.approval.pending', greatest(
            greatest((v_report #>> '{quorum,sovereigns}')::int - (v_report #>> '{tally,sovereigns}')::int, 0)
              + greatest((v_report #>> '{quorum,reviewers}')::int - (v_report #>> '{tally,reviewers}')::int, 0),
            (v_report #>> '{quorum,approvals}')::int - (v_report #>> '{tally,approvals}')::int), p_locale,
          jsonb_build_object('title', v_report ->> 'title', 'due', governance.due_words(internal.from_micros((v_report ->> 'expires_at')::bigint), p_locale))),
        case when v_can then 'review_and_sign' end, '/approvals/' || internal.prefixed('apr', v_id) || '#decide');
    end if;
    return governance.say(p_locale, case v_state when 'approved' then 'good' when 'used' then 'good' when 'rejected' then 'bad' else 'warn' end,
      governance.words('headline.approval.' || v_state, p_locale, jsonb_build_object('title', v_report ->> 'title')), 'see_inbox', '/inbox');
  end if;
  perform identity.require_permission(p_reader, 'queue.read');
  select count(*) as n, min(q.proposal_state) as state, min(q.started_by) as actor, max(q.created_at) as at, count(*) filter (where q.proposal_state = 'completed') as done
    into v_batch from queue.dlq_replay_request q where q.batch_id = v_id;
  if v_batch.n = 0 then
    return null;
  end if;
  v_state := case when v_batch.done > 0 and v_batch.done < v_batch.n then 'scheduled' else v_batch.state end;
  if v_state = 'submitted' then
    -- Whoever asks for a batch asks for its approval; without the right to read it only the batch is told.
    select a.approval_id, approval.state(a.approval_id) into v_of, v_kind from approval.approval_request a
     where a.subject_kind = 'dlq_replay_batch' and a.subject_ref = v_id::text and identity.permits(p_reader, 'approval.read') order by a.requested_at desc limit 1;
    if v_kind in ('approved', 'rejected', 'expired') then
      v_state := v_kind;
    end if;
  end if;
  return governance.say(
    p_locale, case v_state when 'completed' then 'good' when 'withdrawn' then 'plain' when 'scheduled' then 'plain' when 'rejected' then 'bad' else 'warn' end,
    governance.counted('headline.replay.' || v_state, v_batch.n, p_locale, jsonb_build_object('by', v_batch.actor, 'age', governance.age_words(v_batch.at, p_locale))),
    case when v_state = 'approved' then 'run_replay' when v_of is not null and v_state = 'submitted' then 'see_approval' else 'all_dead' end,
    case when v_state = 'approved' then '/replays/' || internal.prefixed('bat', v_id) || '#run'
         when v_of is not null and v_state = 'submitted' then '/approvals/' || internal.prefixed('apr', v_of)
         else '/governance/problems/dlq' end);
end
$$;
