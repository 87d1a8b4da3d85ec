-- promise: a condition of a run that cannot be answered, though every step that it names has ended, is a finding that says which places of the
--          document are missing. While one of them goes on, its output may still answer it, and nobody has to look.
-- callers: workflow.decide_ways, workflow.consider
create or replace function workflow.note_unanswered(
  p_run workflow.workflow_run, p_step_key text, p_what text, p_condition jsonpath, p_reads_outputs text[]
) returns void
language plpgsql
as $$
declare
  v_missing constant jsonb := fsm.missing_paths(workflow.context(p_run.workflow_run_id, p_reads_outputs, null), p_condition);
begin
  if exists (select from workflow.step_run s
              where s.workflow_run_id = p_run.workflow_run_id and s.step_key = any (p_reads_outputs)
                and s.state_code not in ('completed', 'cancelled') and not s.skipped) then
    return;
  end if;
  perform governance.issue_open(
    'mow', 'critical', 'condition_unanswered', 'orphan_workflow', 'A condition of a workflow cannot be answered',
    format('The %s of step %s cannot be answered: %s. Nothing that depends on it goes on, and nothing was skipped.', p_what, p_step_key,
           coalesce(nullif((select string_agg(m, ', ') from jsonb_array_elements_text(v_missing) m), '') || ' is not there', 'a value has another type')),
    'workflow_run', p_run.workflow_run_id::text,
    jsonb_build_object('workflow_run_id', p_run.workflow_run_id, 'step_key', p_step_key, 'what', p_what, 'condition', p_condition::text, 'missing', v_missing),
    'chancery');
end
$$;
