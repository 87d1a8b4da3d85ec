-- promise: a completed run in which something has to be done again, because a step of it was just opened for correction, is in progress again, on
--          the approval of that step; a completed step that stands for it is marked as stale. Any other run stays as it is.
-- callers: workflow.call, with the run locked and the step moved
-- arrow: completed → in_progress (W6, by the system)
-- locks: the run, held by the caller; the row of the step that stands for it
-- refuses with: RW029 the version of the machine that the run was started with has no way back
create or replace function workflow.reopen_run(p_work workflow.work, p_evidence jsonb) returns void
language plpgsql
as $$
declare
  v_run workflow.workflow_run;
begin
  select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id;
  if v_run.state_code <> 'completed' or workflow.is_complete(p_work.workflow_run_id) then
    return;
  elsif not exists (select from fsm.transition_def t
                     where t.state_machine_id = v_run.state_machine_id and t.from_state = 'completed' and t.to_state = 'in_progress' and t.trigger_ref = 'step_reopened') then
    perform internal.refuse(internal.problem('RW029', jsonb_build_object(
      'run_id', p_work.run_id, 'workflow_run_id', p_work.workflow_run_id, 'machine', v_run.state_machine_id)));
  end if;
  perform workflow.move_run(
    p_work.workflow_run_id, 'completed', 'in_progress', 'system', 'event', 'step_reopened',
    jsonb_build_object('audit_ref', 'step:' || p_work.run_id, 'step_run_id', p_work.run_id, 'approval_id', p_evidence -> 'approval_id'), 'chancery',
    'reopen/' || internal.uuid_v7(), null, null, null);
  if v_run.parent_step_run_id is not null then
    -- What was made of the old outputs stands until somebody opens it again; that it is old is shown.
    update workflow.step_run s set stale_since = internal.now()
     where s.step_run_id = v_run.parent_step_run_id and s.state_code = 'completed' and s.stale_since is null;
    perform workflow.tell_parent(v_run.parent_step_run_id);
  end if;
end
$$;
