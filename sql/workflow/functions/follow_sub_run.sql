-- promise: a step that stands for a sub-workflow is where that run is. It may take two moves: from failed or overdue the way leads
--          through in_progress.
-- locks: the run of the step, held by the caller; then the run of the sub-workflow (share)
create or replace function workflow.follow_sub_run(p_step_run_id uuid) returns integer
language plpgsql
as $$
declare
  v_work workflow.work;
  v_target text;
  v_to text;
  v_sub record;
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
    if v_to = 'completed' then
      -- The step's own tasks may still be open; the last of them makes the loop look again.
      exit when not workflow.tasks_are_done(p_step_run_id);
      perform workflow.snapshot(v_work, 'output', jsonb_build_object('workflow_run_id', v_sub.workflow_run_id, 'outputs', workflow.last_outputs(v_sub.workflow_run_id)));
      v_work.output_snapshot_id := workflow.snapshot_id(v_work, 'output');
      v_artefacts := array[(select o.row_digest from workflow.step_run_snapshot o where o.snapshot_id = v_work.output_snapshot_id)];
      v_work := workflow.note_ending(v_work, 'chancery');
    elsif v_to = 'failed' then
      v_work.failure_classification := 'permanent';
      v_work.failure_class := 'rejected';
      v_work.event_facts := '{"classification": "permanent"}';
    elsif v_to = 'waiting' then
      v_evidence := v_evidence || '{"facets": ["waiting_dependency"]}';
      v_work.event_facts := '{"waiting_facet": "waiting_dependency"}';
    end if;
    perform workflow.act(v_work, v_to, 'mow_orchestrator', 'event', 'sub_workflow_rollup', v_evidence, 'chancery', 'chancery:bridge:' || v_work.seq, null, v_artefacts);
    v_moved := v_moved + 1;
  end loop;
  return v_moved + 1;
end
$$;
