-- promise: every wait that the evidence names is on record; gives the primary facet.
-- refuses with: RW007 no facet, an unknown one, or one that does not say what it waits for; RW012 the call-back was not issued for this work
create or replace function workflow.open_waits(p_work workflow.work, p_evidence jsonb) returns text
language plpgsql
as $$
declare
  v_wait record;
  v_until timestamptz;
  v_token bytea;
begin
  if jsonb_typeof(p_evidence -> 'waits') is distinct from 'array' or p_evidence -> 'waits' = '[]' or jsonb_array_length(p_evidence -> 'waits') > 20
     or (select jsonb_agg(w ->> 'facet' order by w ->> 'facet') from jsonb_array_elements(p_evidence -> 'waits') w)
        is distinct from (select jsonb_agg(f order by f) from jsonb_array_elements_text(
          case jsonb_typeof(p_evidence -> 'facets') when 'array' then p_evidence -> 'facets' else '[]' end) f) then
    perform internal.refuse(internal.problem('RW007', jsonb_build_object('expected', 'facets: [FACET, …] and waits: [{facet, …}, …] with the same facets')));
  end if;
  for v_wait in select w.value as wait, w.no from jsonb_array_elements(p_evidence -> 'waits') with ordinality w (value, no) loop
    v_until := workflow.time_or_null(v_wait.wait ->> 'until');
    if not coalesce(case v_wait.wait ->> 'facet'
         when 'waiting_time_gate' then v_until is not null
         when 'waiting_dependency' then exists (
           select from workflow.step_run s where s.workflow_run_id = p_work.workflow_run_id and s.step_key = v_wait.wait ->> 'step' and s.step_run_id <> p_work.step_run_id)
           -- Or its own tasks, all of them.
           or p_work.run_kind = 'step' and v_wait.wait -> 'tasks' = 'true' and not v_wait.wait ? 'step'
         when 'waiting_human' then not internal.is_blank(v_wait.wait ->> 'of')
         when 'waiting_external' then v_wait.wait ->> 'token_sha256' ~ '^[0-9a-f]{64}$' end, false) then
      perform internal.refuse(internal.problem('RW007', jsonb_build_object('wait', v_wait.wait, 'expected',
        'waiting_time_gate: until; waiting_dependency: another step of the run, or tasks: true for the step''s own; waiting_human: of (whom or what); waiting_external: token_sha256')));
    end if;
    v_token := case when v_wait.wait ->> 'facet' = 'waiting_external' then decode(v_wait.wait ->> 'token_sha256', 'hex') end;
    -- A call-back that was issued before the call went out is the wait itself.
    update workflow.wait w set opened = true
     where w.token_sha256 = v_token and w.run_id = p_work.run_id and w.cycle_no = p_work.cycle_no and w.attempt = p_work.retry_count and not w.opened;
    if not found then
      if exists (select from workflow.wait w where w.token_sha256 = v_token) then
        perform internal.refuse(internal.problem('RW012', jsonb_build_object('run_id', p_work.run_id)));
      end if;
      insert into workflow.wait (wait_id, run_kind, run_id, workflow_run_id, facet, subject_kind, subject_ref, until, token_sha256, cycle_no, attempt, issued_at, opened)
      select internal.derived_uuid(p_work.run_id, 'wait,' || (p_work.seq + 1) || ',' || v_wait.no), p_work.run_kind, p_work.run_id, p_work.workflow_run_id,
             v_wait.wait ->> 'facet',
             case v_wait.wait ->> 'facet' when 'waiting_dependency' then case when v_wait.wait ? 'step' then 'step' else 'tasks' end when 'waiting_human' then coalesce(v_wait.wait ->> 'subject_kind', 'person') end,
             case v_wait.wait ->> 'facet'
               when 'waiting_dependency' then coalesce((select s.step_run_id::text from workflow.step_run s
                                                         where s.workflow_run_id = p_work.workflow_run_id and s.step_key = v_wait.wait ->> 'step'), p_work.run_id::text)
               when 'waiting_human' then v_wait.wait ->> 'of' end,
             v_until, v_token, p_work.cycle_no, p_work.retry_count, internal.now(), true;
    end if;
    -- What was waited for is there already: a step that is done, a time that has passed.
    perform workflow.resolve_wait(w.wait_id, jsonb_build_object('step', v_wait.wait -> 'step', 'state', 'completed'), 'chancery')
      from workflow.wait w join workflow.step_run s on w.subject_kind = 'step' and s.step_run_id::text = w.subject_ref
     where w.run_id = p_work.run_id and w.resolved_at is null and s.state_code = 'completed';
  end loop;
  if p_work.run_kind = 'step' and workflow.tasks_are_done(p_work.run_id) then
    perform workflow.end_wait_for_tasks(p_work.run_id);
  end if;
  if exists (select from workflow.wait w where w.run_id = p_work.run_id and w.resolved_at is null and w.facet = 'waiting_human' and w.subject_kind <> 'person') then
    -- The decision may have been made while the wait was being written.
    insert into workflow.agenda (workflow_run_id, cause, run_id) values (p_work.workflow_run_id, 'approval', p_work.run_id);
    -- Or nobody makes it: then the wait is over when the request runs out.
    perform workflow.set_timer('approval_expiry', max(q.expires_at), p_work.run_kind, p_work.run_id, p_work.workflow_run_id)
      from workflow.wait w join approval.approval_request q on q.subject_kind = w.subject_kind and q.subject_ref = w.subject_ref
     where w.run_id = p_work.run_id and w.resolved_at is null
    having max(q.expires_at) > internal.now();
  end if;
  select min(w.until) into v_until from workflow.wait w where w.run_id = p_work.run_id and w.resolved_at is null and w.facet = 'waiting_time_gate';
  if v_until is not null then
    perform workflow.set_timer('time_gate', v_until, p_work.run_kind, p_work.run_id, p_work.workflow_run_id);
  end if;
  return (select f.facet_code from fsm.run_peek(p_work.run_kind, p_work.run_id) r
            join fsm.state_facet_def f on f.state_machine_id = r.state_machine_id and f.state_code = 'waiting'
            join jsonb_array_elements_text(p_evidence -> 'facets') g on g = f.facet_code
           order by f.primary_ordinal limit 1);
end
$$;
