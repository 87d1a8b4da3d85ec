-- promise: the head of the pages of workflows and of changes of them. Steps that the reader may not see are not counted.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RW001
create or replace function governance.headline_workflows(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_id uuid := internal.uuid_or_null(p_subject);
  v_found record;
  v_open bigint;
  v_waiting bigint;
  v_change uuid;
  v_hidden text[];
  v_diff jsonb;
  v_review record;
  v_parts text[];
  v_missing integer;
begin
  perform identity.require_permission(p_reader, 'workflow.read');
  if p_page = 'workflows' then
    select count(*), (array_agg(c.change_request_id order by c.created_at))[1] into v_waiting, v_change
      from workflow.workflow_change_requests c where c.proposal_state in ('submitted', 'review');
    select count(*) into v_open from workflow.workflow_registry g;
    return governance.say(
      p_locale, case when v_waiting > 0 then 'warn' else 'plain' end,
      governance.counted('headline.workflows', v_open, p_locale) || case when v_waiting > 0 then ' ' || governance.counted('headline.changes', v_waiting, p_locale) else '' end,
      case when v_waiting > 0 then 'see_change' when identity.permits(p_reader, 'workflow.propose') then 'propose_workflow' end,
      coalesce('/changes/' || internal.prefixed('chg', v_change), '/changes'));
  end if;
  if p_page = 'workflow' then
    select g.workflow, g.current_version, g.current_def_id into v_found from workflow.workflow_registry g where g.workflow = p_subject;
    if not found then
      perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow', 'id', left(p_subject, 200))));
    end if;
    v_hidden := workflow.hidden_keys(v_found.current_def_id, p_reader);
    select count(*) into v_open from workflow.workflow_run r where r.workflow = p_subject and r.state_code not in ('completed', 'cancelled');
    select count(*), (array_agg(c.change_request_id order by c.created_at))[1] into v_waiting, v_change
      from workflow.workflow_change_requests c where c.workflow = p_subject and c.proposal_state in ('submitted', 'review');
    return governance.say(
      p_locale, case when v_waiting > 0 then 'warn' else 'plain' end,
      (select governance.counted('headline.workflow', count(*), p_locale, jsonb_build_object('version', v_found.current_version))
              || case when count(distinct d.lane) > 1 then governance.words('headline.workflow.lanes', p_locale, jsonb_build_object('n', count(distinct d.lane))) else '' end
         from workflow.workflow_step_def d where d.workflow_def_id = v_found.current_def_id and d.step_key <> all (v_hidden))
      || '. ' || governance.counted('headline.runs', v_open, p_locale)
      || case when v_waiting > 0 then ' ' || governance.counted('headline.changes', v_waiting, p_locale) else '' end,
      case when v_waiting > 0 then 'see_change' when identity.permits(p_reader, 'workflow.propose') then 'propose_change' else 'see_runs' end,
      case when v_waiting > 0 then '/changes/' || internal.prefixed('chg', v_change)
           when identity.permits(p_reader, 'workflow.propose') then '/workflows/' || p_subject || '#propose' else '/runs?workflow=' || p_subject end);
  end if;
  select c.change_request_id, c.workflow, c.base_version, c.proposal_state, c.started_by, c.title, c.last_transition_at, c.merged_def_id into v_found
    from workflow.workflow_change_requests c where c.change_request_id = v_id;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_change', 'id', coalesce(v_id::text, left(p_subject, 200)))));
  end if;
  v_diff := workflow.change_diff(v_id, p_reader);
  -- What changes: steps, and relations and fields where no step does.
  select array_agg(governance.counted('headline.change.' || x.what, x.n, p_locale) order by x.place) into v_parts
    from (values ('added', jsonb_array_length(v_diff #> '{steps,added}'), 1), ('changed', jsonb_array_length(v_diff #> '{steps,changed}'), 2),
                 ('removed', jsonb_array_length(v_diff #> '{steps,removed}'), 3),
                 ('relations', jsonb_array_length(v_diff #> '{relations,added}') + jsonb_array_length(v_diff #> '{relations,changed}')
                               + jsonb_array_length(v_diff #> '{relations,removed}'), 4)) x (what, n, place) where x.n > 0;
  select r.approval_id, r.state, r.expires_at into v_review from workflow.review_of('workflow_change', v_id) r;
  if v_found.proposal_state in ('submitted', 'review') and v_review.state = 'pending' then
    select greatest(greatest(q.sovereigns - (t.tally ->> 'sovereigns')::int, 0) + greatest(q.reviewers - (t.tally ->> 'reviewers')::int, 0), q.approvals - (t.tally ->> 'approvals')::int)
      into v_missing from approval.approval_request a join approval.quorum_rule q using (risk), lateral (select approval.tally(a.approval_id) as tally) t
     where a.approval_id = v_review.approval_id;
  end if;
  return governance.say(
    p_locale, case v_found.proposal_state when 'merged' then 'good' when 'rejected' then 'bad' when 'draft' then 'plain' when 'withdrawn' then 'plain' else 'warn' end,
    governance.words('headline.change', p_locale, jsonb_build_object('workflow', v_found.workflow, 'what', coalesce(array_to_string(v_parts, ', '),
      governance.words('headline.change.nothing', p_locale))))
    || ' ' || case when v_missing is not null then governance.counted('headline.change.pending', v_missing, p_locale)
                   else governance.words('headline.change.' || v_found.proposal_state, p_locale, jsonb_build_object(
                          'by', v_found.started_by, 'age', governance.age_words(v_found.last_transition_at, p_locale),
                          'version', (select v.version from workflow.workflow_version v where v.workflow_def_id = v_found.merged_def_id))) end,
    case when v_missing is not null and identity.permits(p_reader, 'approval.read') then 'see_approval' when v_found.proposal_state = 'approved' then 'merge'
         when v_found.proposal_state = 'merged' then 'see_workflow' when v_found.proposal_state = 'draft' and v_found.started_by = p_reader then 'hand_in' end,
    case when v_missing is not null then '/approvals/' || internal.prefixed('apr', v_review.approval_id)
         when v_found.proposal_state = 'merged' then '/workflows/' || v_found.workflow
         else '/changes/' || internal.prefixed('chg', v_id) || '#act' end);
end
$$;
