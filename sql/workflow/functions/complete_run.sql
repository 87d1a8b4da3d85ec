-- promise: a run whose mandatory steps are all completed is completed; one without any, when none of its steps is open.
-- arrow: in_progress → completed (W2, by the system)
create or replace function workflow.complete_run(p_workflow_run_id uuid) returns void
language plpgsql
as $$
declare
  v_run workflow.workflow_run;
begin
  select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  if v_run.state_code = 'in_progress' and workflow.is_complete(p_workflow_run_id)
     -- Nobody knows yet whether something else was to be done.
     and not exists (select from workflow.agenda a where a.workflow_run_id = p_workflow_run_id and a.cause = 'unanswered') then
    perform workflow.move_run(p_workflow_run_id, 'in_progress', 'completed', 'system', 'condition_resolved', 'all_mandatory_steps_completed',
                              jsonb_build_object('audit_ref', 'rollup', 'mandatory', v_run.mandatory_count, 'completed', v_run.completed_count), 'chancery',
                              'complete/' || internal.uuid_v7(),
                              null, null, null);
    if v_run.parent_step_run_id is not null then
      perform workflow.tell_parent(v_run.parent_step_run_id);
    end if;
  end if;
end
$$;
