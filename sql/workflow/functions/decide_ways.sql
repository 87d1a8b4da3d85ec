-- promise: every way out of a step that is decided is taken or not, once, and what it leads to follows; one whose condition cannot be answered
--          is neither, and is asked again after each new output (p_again); who waits for the step goes on; a
--          precondition that did not hold is asked again, since there may be a new output. Costs as much as the step has ways out.
create or replace function workflow.decide_ways(p_run workflow.workflow_run, p_step_run_id uuid, p_again boolean default false) returns integer
language plpgsql
as $$
declare
  v_step record;
  v_way record;
  v_taken boolean;
  v_moved integer := 1;
  v_wait record;
  v_unanswered boolean := false;
  v_asked_before boolean;
begin
  select s.step_no, s.step_key, s.state_code, s.skipped into v_step from workflow.step_run s where s.step_run_id = p_step_run_id;
  -- It was opened again before anybody looked; its ways are decided when it closes.
  if v_step.state_code not in ('completed', 'cancelled') and not v_step.skipped then
    return 1;
  end if;
  delete from workflow.agenda a where a.workflow_run_id = p_run.workflow_run_id and a.cause = 'unanswered' and a.run_id = p_step_run_id;
  v_asked_before := p_again or found;
  for v_way in
    select w.relation_no, w.to_no, w.relation_kind, w.condition, w.reads_outputs
      from workflow.workflow_step_relations w where w.workflow_def_id = p_run.workflow_def_id and w.from_no = v_step.step_no order by w.to_no
  loop
    v_taken := v_step.state_code = 'completed'
      and (v_way.condition is null or workflow.holds(v_way.condition, workflow.context(p_run.workflow_run_id, v_way.reads_outputs, null)));
    if v_taken is null then
      -- Neither taken nor not: what lies behind it waits, and nothing there is skipped.
      continue when exists (select from workflow.relation_outcome o where o.workflow_run_id = p_run.workflow_run_id and o.relation_no = v_way.relation_no);
      perform workflow.note_unanswered(p_run, v_step.step_key, 'condition of the way to ' || (
        select s.step_key from workflow.step_run s where s.workflow_run_id = p_run.workflow_run_id and s.step_no = v_way.to_no), v_way.condition, v_way.reads_outputs);
      v_unanswered := true;
      continue;
    end if;
    insert into workflow.relation_outcome (workflow_run_id, relation_no, taken, decided_at)
    values (p_run.workflow_run_id, v_way.relation_no, v_taken, internal.now()) on conflict do nothing;
    -- A step that was corrected does not decide its ways again.
    if found then
      update workflow.step_run s
         set and_open = s.and_open - (v_way.relation_kind = 'and')::int, and_missed = s.and_missed or (v_way.relation_kind = 'and' and not v_taken),
             or_open = s.or_open - (v_way.relation_kind = 'or')::int, or_taken = s.or_taken or (v_way.relation_kind = 'or' and v_taken),
             plain_open = s.plain_open - (v_way.relation_kind not in ('and', 'or'))::int,
             plain_taken = s.plain_taken or (v_way.relation_kind not in ('and', 'or') and v_taken)
       where s.workflow_run_id = p_run.workflow_run_id and s.step_no = v_way.to_no;
      perform workflow.consider(s.step_run_id) from workflow.step_run s where s.workflow_run_id = p_run.workflow_run_id and s.step_no = v_way.to_no;
      v_moved := v_moved + 1;
    end if;
  end loop;
  if v_unanswered then
    insert into workflow.agenda (workflow_run_id, cause, run_id, not_before) values (p_run.workflow_run_id, 'unanswered', p_step_run_id, 'infinity');
  end if;
  if v_asked_before and not v_unanswered
     and not exists (select from workflow.agenda a where a.workflow_run_id = p_run.workflow_run_id and a.cause = 'unanswered') then
    perform governance.issue_close('condition_unanswered', 'workflow_run', p_run.workflow_run_id::text, 'resolved', 'it was answered', 'chancery');
  end if;
  if p_again then
    -- Only what is new may answer what could not be answered.
    return v_moved;
  end if;
  if v_step.state_code = 'completed' then
    for v_wait in
      select w.wait_id, w.run_kind, w.run_id from workflow.wait w where w.subject_kind = 'step' and w.subject_ref = p_step_run_id::text and w.resolved_at is null
       order by w.wait_id
    loop
      perform workflow.resolve_wait(v_wait.wait_id, jsonb_build_object('step_run_id', p_step_run_id, 'state', 'completed'), 'chancery');
      perform workflow.resume_if_resolved(v_wait.run_kind, v_wait.run_id);
    end loop;
  end if;
  -- An end without an output may answer too: what was skipped is known to have none.
  perform workflow.consider(s.step_run_id) from workflow.step_run s where s.workflow_run_id = p_run.workflow_run_id and s.awaits_precondition;
  update workflow.agenda a set not_before = internal.now()
   where a.workflow_run_id = p_run.workflow_run_id and a.cause = 'unanswered' and a.run_id <> p_step_run_id;
  perform workflow.want_critical_path(p_run.workflow_run_id);
  return v_moved;
end
$$;
