-- promise: a step that stands for a sub-workflow is where that run is. It may take two moves: from failed the way leads through
--          in_progress. One that somebody blocked is followed again when it is freed. What the run gives meets the step's contract and
--          postcondition, or the step is not completed: the log says what it breaks, and a condition that cannot be answered is a finding.
-- locks: the run of the step, held by the caller; then the run of the sub-workflow (share)
create or replace function workflow.follow_sub_run(p_step_run_id uuid) returns integer
language plpgsql
as $$
declare
  v_work workflow.work;
  v_target text;
  v_to text;
  v_sub record;
  v_problem jsonb;
  v_moved integer := 0;
  v_artefacts bytea[];
  v_evidence jsonb;
begin
  perform workflow.lock_sub_run('step', p_step_run_id);
  loop
    v_work := workflow.take('step', p_step_run_id);
    v_target := workflow.bridge_target(p_step_run_id);
    exit when v_target is null or v_target = v_work.state_code or v_work.state_code not in ('in_progress', 'waiting', 'failed');
    v_to := case when v_work.state_code = 'failed' then 'in_progress' else v_target end;
    select r.workflow_run_id, r.rollup_state_code, r.state_code into v_sub from workflow.workflow_run r where r.parent_step_run_id = p_step_run_id;
    v_evidence := jsonb_build_object('audit_ref', 'workflow_run:' || v_sub.workflow_run_id, 'sub_run', v_sub.workflow_run_id, 'rollup', v_sub.rollup_state_code, 'to', v_to,
                                     'sub_state', v_sub.state_code);
    v_artefacts := null;
    v_problem := case when v_sub.state_code = 'completed' then workflow.ending_problem(p_step_run_id) end;
    if v_to = 'completed' then
      -- The step's own tasks may still be open; the last of them makes the loop look again.
      exit when not workflow.tasks_are_done(p_step_run_id);
      perform workflow.snapshot(v_work, 'output', workflow.sub_output(p_step_run_id));
      v_work.output_snapshot_id := workflow.snapshot_id(v_work, 'output');
      v_artefacts := array[(select o.row_digest from workflow.step_run_snapshot o where o.snapshot_id = v_work.output_snapshot_id)];
      v_work := workflow.note_ending(v_work, 'chancery');
      if v_work.state_code = 'waiting' then
        perform governance.issue_close('condition_unanswered', 'workflow_run', v_work.workflow_run_id::text, 'resolved', 'it was answered', 'chancery')
          where not exists (select from workflow.agenda a where a.workflow_run_id = v_work.workflow_run_id and a.cause = 'unanswered');
      end if;
    elsif v_to = 'failed' then
      v_work.failure_classification := 'permanent';
      v_work.failure_class := 'rejected';
      v_work.event_facts := '{"classification": "permanent"}';
      v_evidence := v_evidence || coalesce(v_problem, '{}');
    elsif v_to = 'waiting' then
      v_evidence := v_evidence || '{"facets": ["waiting_dependency"]}' || coalesce(v_problem, '{}');
      if v_problem ->> 'why' = 'unanswered' then
        perform governance.issue_open(
          'mow', 'critical', 'condition_unanswered', 'orphan_workflow', 'A condition of a workflow cannot be answered',
          format('The postcondition of step %s cannot be answered of what its sub-workflow gave. The step waits, and nothing was skipped.', v_work.key),
          'workflow_run', v_work.workflow_run_id::text,
          jsonb_build_object('workflow_run_id', v_work.workflow_run_id, 'step_key', v_work.key, 'what', 'postcondition', 'sub_run', v_sub.workflow_run_id), 'chancery');
      end if;
      v_work.event_facts := '{"waiting_facet": "waiting_dependency"}';
    end if;
    perform workflow.act(v_work, v_to, 'mow_orchestrator', 'event', 'sub_workflow_rollup', v_evidence, 'chancery', 'bridge', null, v_artefacts);
    v_moved := v_moved + 1;
  end loop;
  return v_moved + 1;
end
$$;
