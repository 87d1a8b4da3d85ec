-- promise: a run of a version exists, not started, with every step of the version waiting for its turn. The steps are born in one statement:
--          each has its log row and its event, as if it had been born alone.
-- callers: workflow.fn_workflow_start, workflow.start_sub_run
-- refuses with: RS018 a machine is missing, RW023, RS… the birth is refused
create or replace function workflow.make_run(
  p_workflow_run_id uuid, p_version workflow.workflow_version, p_inputs jsonb, p_parent_step_run_id uuid, p_started_by text, p_evidence jsonb,
  p_principal text, p_actor_class text, p_idempotency_key text, p_trace_id text, p_correlation_id text, p_key_id uuid, p_signature bytea,
  p_verified bytea default null
) returns jsonb
language plpgsql
as $$
declare
  v_at constant timestamptz := internal.now();
  v_trace constant text := coalesce(p_trace_id, replace(p_workflow_run_id::text, '-', ''));
  v_correlation constant text := coalesce(p_correlation_id, p_workflow_run_id::text);
  v_run_machine record;
  v_machine record;
  v_edge record;
  v_report jsonb;
begin
  select m.state_machine_id, m.initial_state into v_run_machine from fsm.state_machine_def m where m.scope = 'workflow_run' and m.active;
  select m.state_machine_id, m.initial_state into v_machine from fsm.state_machine_def m where m.scope = 'step' and m.active;
  if v_run_machine.state_machine_id is null or v_machine.state_machine_id is null
     or not exists (select from fsm.state_machine_def m where m.scope = 'task' and m.active) then
    perform internal.refuse(internal.problem('RS018', jsonb_build_object('machine', 'workflow_run, step, task', 'active', (
      select coalesce(jsonb_agg(m.state_machine_id order by 1), '[]') from fsm.state_machine_def m where m.active and m.scope in ('workflow_run', 'step', 'task')))));
  end if;
  perform workflow.rollup_policy(v_run_machine.state_machine_id);
  insert into workflow.workflow_run (
    workflow_run_id, workflow_def_id, workflow, workflow_class, inputs, parent_step_run_id, state_machine_id, state_code, seq, started_by, trace_id, correlation_id,
    created_at, last_transition_at, mandatory_count, optional_excluded_count)
  select p_workflow_run_id, p_version.workflow_def_id, p_version.workflow, coalesce(p_version.definition::jsonb ->> 'class', 'standard'),
         internal.canonical_json(p_inputs), p_parent_step_run_id, v_run_machine.state_machine_id, v_run_machine.initial_state, 0, p_started_by, v_trace,
         v_correlation, v_at, v_at, count(*) filter (where not d.optional), count(*) filter (where d.optional)
    from workflow.workflow_step_def d where d.workflow_def_id = p_version.workflow_def_id;
  v_report := fsm.move(p_workflow_run_id, 'workflow_run', null, v_run_machine.initial_state, p_actor_class, 'rpc', 'workflow_create', p_evidence, p_principal,
                       p_idempotency_key, null,
                       (select internal.artefact_digest(array[r.row_digest]) from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id),
                       p_key_id, p_signature, p_verified => p_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;

  select t.transition_id, t.emitted_event_type, t.trigger_kind, t.trigger_ref into strict v_edge
    from fsm.transition_def t where t.state_machine_id = v_machine.state_machine_id and t.from_state is null and t.actor_class = 'mow_orchestrator';
  with asked as materialized (
    select d.step_def_id, d.step_no, d.step_key, d.optional, d.executor_class, d.joins_and, d.joins_or, d.joins_plain, p.max_attempts,
           internal.derived_uuid(p_workflow_run_id, d.step_key) as step_run_id, internal.uuid_v7() as log_id
      from workflow.workflow_step_def d join queue.retry_policy_registry p on p.policy = d.retry_policy
     where d.workflow_def_id = p_version.workflow_def_id),
  hashed as materialized (
    select a.*, internal.log_hash(
             a.step_run_id, 1, a.log_id, 'step', v_machine.state_machine_id, v_edge.transition_id, null, v_machine.initial_state, null, 'chancery', 'mow_orchestrator',
             v_edge.trigger_kind, v_edge.trigger_ref, null, '{}', v_edge.emitted_event_type, null, 'birth', null, null, v_at, null) as hash
      from asked a),
  born as (
    insert into workflow.step_run (
      step_run_id, workflow_run_id, step_def_id, step_no, step_key, mandatory, state_machine_id, state_code, seq, head_hash, started_by, trace_id, correlation_id,
      created_at, last_transition_at, and_open, or_open, plain_open, executor_class_ref, retry_limit, rollup_class)
    select h.step_run_id, p_workflow_run_id, h.step_def_id, h.step_no, h.step_key, not h.optional, v_machine.state_machine_id, v_machine.initial_state, 1, h.hash,
           p_started_by, v_trace, v_correlation, v_at, v_at, h.joins_and, h.joins_or, h.joins_plain, h.executor_class, h.max_attempts,
           case when h.optional then 'none' else 'gray' end
      from hashed h order by h.step_no),
  logged as (
    insert into fsm.transition_log (
      run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class, trigger_kind, trigger_ref, evidence,
      event_type, idempotency_key, at, prev_hash, hash)
    select h.step_run_id, 1, h.log_id, 'step', v_machine.state_machine_id, v_edge.transition_id, null, v_machine.initial_state, 'chancery', 'mow_orchestrator',
           v_edge.trigger_kind, v_edge.trigger_ref, '{}', v_edge.emitted_event_type, 'birth', v_at, null, h.hash
      from hashed h order by h.step_no)
  insert into event.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
  select h.log_id, v_at, v_edge.emitted_event_type, 'step', h.step_run_id, 1, 'chancery', v_trace, v_correlation, '{}'
    from hashed h where v_edge.emitted_event_type is not null order by h.step_no;

  v_report := fsm.move(p_workflow_run_id, 'workflow_run', v_run_machine.initial_state, 'in_progress', 'mow_orchestrator', 'rpc', 'workflow_start', '{}', 'chancery', 'start/' || internal.uuid_v7(),
                       null, null, null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  insert into workflow.agenda (workflow_run_id, cause) values (p_workflow_run_id, 'started');
  return v_report;
end
$$;
