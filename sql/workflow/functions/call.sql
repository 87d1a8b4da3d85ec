-- promise: a call on a step or task that was taken is carried out with its artefacts, or refused.
-- callers: workflow.fn_work_move, workflow.fn_work_begin, workflow.fn_work_report
create or replace function workflow.call(
  p_work workflow.work, p_call text, p_evidence jsonb, p_document jsonb, p_principal text, p_actor_class text, p_idempotency_key text,
  p_reason text default null, p_key_id uuid default null, p_signature bytea default null, p_verified bytea default null
) returns jsonb
language plpgsql
as $$
declare
  v_work workflow.work := p_work;
  v_now constant timestamptz := internal.now();
  v_verb constant text := regexp_replace(p_call, '^(step|task)_', '');
  v_target record;
  v_artefacts bytea[];
  v_report jsonb;
  v_run_state text;
begin
  v_report := fsm.request_problems(p_work.run_kind, p_evidence, p_idempotency_key, p_principal);
  if v_report is not null then
    perform internal.refuse(v_report);
  end if;
  v_report := workflow.replay(p_work.run_id, p_call, p_evidence, p_principal, p_reason, p_idempotency_key);
  if v_report is not null then
    return v_report;
  end if;
  select * into v_target from workflow.target_of(p_work.run_kind, p_work.run_id, p_call, p_actor_class);
  select r.state_code into v_run_state from workflow.workflow_run r where r.workflow_run_id = p_work.workflow_run_id;
  if v_run_state in ('not_started', 'cancelled') or (v_run_state = 'paused' and v_verb = 'claim') then
    perform internal.refuse(internal.problem('RW006', jsonb_build_object('workflow_run_id', p_work.workflow_run_id, 'state', v_run_state)));
  elsif p_work.run_kind = 'task' and exists (select from workflow.step_run s where s.step_run_id = p_work.step_run_id and s.state_code = 'cancelled') then
    -- A step that was called off takes its tasks along.
    perform internal.refuse(internal.problem('RW006', jsonb_build_object('workflow_run_id', p_work.workflow_run_id, 'state', 'cancelled')));
  end if;

  case v_verb
    when 'claim' then
      v_work := workflow.begin_work(v_work, p_principal, p_actor_class);
      v_artefacts := array[workflow.snapshot(v_work, 'input', workflow.input_of(v_work, p_principal, p_actor_class))];
    when 'wait' then
      v_work.event_facts := jsonb_build_object('waiting_facet', workflow.open_waits(v_work, p_evidence));
    when 'block' then
      v_work.blocked_since := v_now;
      v_work.block_reason := p_evidence ->> 'block_reason';
      v_work.block_escalated_at := null;
    when 'complete' then
      v_work := workflow.end_work(v_work, p_evidence, p_document, p_principal);
      v_artefacts := array[(select o.row_digest from workflow.step_run_snapshot o where o.snapshot_id = v_work.output_snapshot_id)];
    when 'executor_failure' then
      v_work.failure_classification := p_evidence ->> 'classification';
      v_work.failure_class := coalesce(p_evidence ->> 'failure_class', 'unclassified');
      v_work.event_facts := jsonb_build_object('classification', p_evidence -> 'classification');
      if not exists (select from workflow.failure_class_registry f where f.failure_class = v_work.failure_class and f.classification = v_work.failure_classification) then
        perform internal.refuse(internal.problem('RW024', jsonb_build_object(
          'failure_class', v_work.failure_class, 'classification', v_work.failure_classification,
          'known', (select jsonb_object_agg(f.failure_class, f.classification) from workflow.failure_class_registry f))));
      end if;
    when 'retry_attempt' then
      v_work.retry_count := v_work.retry_count + 1;
      v_artefacts := array[workflow.snapshot(v_work, 'input', workflow.input_of(v_work, p_principal, p_actor_class))];
    when 'reopen_for_correction' then
      perform workflow.use_approval(v_work, 'step_reopen', p_evidence, p_idempotency_key, p_principal);
      v_work := workflow.reopen(v_work, p_evidence, p_principal);
      v_artefacts := array[(select c.row_digest from workflow.step_run_correction_cycle c where c.run_id = v_work.run_id and c.cycle_no = v_work.cycle_no)];
    when 'cancel' then
      perform workflow.use_approval(v_work, 'step_cancel', p_evidence, p_idempotency_key, p_principal);
    else
      null; -- the move is all there is to it
  end case;
  v_report := workflow.act(v_work, v_target.to_state, p_actor_class, v_target.trigger_kind, p_call, p_evidence, p_principal, p_idempotency_key, p_reason,
                           v_artefacts, p_key_id, p_signature, p_verified);
  if v_verb = 'release' then
    -- Who may take it next is what the definition says.
    v_work := workflow.peek(v_work.run_kind, v_work.run_id);
    v_work.pic_id := workflow.pic_of(v_work);
    perform workflow.put(v_work);
  elsif v_verb = 'wait' then
    -- What was waited for may have come before the wait was on record.
    perform workflow.resume_if_resolved(v_work.run_kind, v_work.run_id);
  elsif v_verb in ('reopen_for_correction', 'blocker_resolved') then
    if v_verb = 'reopen_for_correction' then
      perform workflow.reopen_run(v_work, p_evidence);
    end if;
    perform workflow.make_job(v_work.run_kind, v_work.run_id);
  elsif v_target.to_state in ('cancelled', 'cannot_complete', 'failed') then
    perform workflow.close_waits(v_work.run_id, v_target.to_state);
  end if;
  return v_report;
end
$$;
