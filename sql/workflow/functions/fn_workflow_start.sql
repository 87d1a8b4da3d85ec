-- promise: a run of the newest version of a workflow is under way, asked for and signed by who asks. The same id with the same request
--          gives it again.
-- callers: chancery_app (pic_human, reviewer, sovereign, executor_worker)
-- locks: the id (its turn), so that the same request twice at once is one
-- refuses with: RW001 no such workflow, RW009 the inputs, RW010 the inputs break what the workflow asks for, RW019 the id stands for another run,
--               RS014 the trace, RI001–RI008, RI051, RS018
create or replace function workflow.fn_workflow_start(
  p_workflow_run_id uuid, p_workflow text, p_inputs jsonb, p_evidence jsonb, p_principal text, p_actor_class text, p_idempotency_key text,
  p_trace_id text default null, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_version workflow.workflow_version;
  v_run workflow.workflow_run;
  v_problems jsonb;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  if p_trace_id !~ '^[0-9a-f]{32}$' or p_trace_id ~ '^0+$' then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('member', 'trace_id', 'expected', '32 hex digits, not all zero')));
  end if;
  perform workflow.require_own_key(p_idempotency_key);
  -- A repeated request is answered from what is there.
  if p_signature is not null and not exists (select from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id) then
    v_verified := (
      select fsm.require_move_signature('workflow_run', p_workflow_run_id, m.initial_state, p_actor_class, 'rpc', 'workflow_create', p_evidence, p_principal,
                                        p_idempotency_key, null, p_key_id, p_signature, m.state_machine_id)
        from fsm.state_machine_def m where m.scope = 'workflow_run' and m.active);
  end if;
  perform internal.take_turn('workflow_run:' || p_workflow_run_id);
  select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  if found then
    if (v_run.workflow, v_run.inputs::text, v_run.started_by) is distinct from (p_workflow, internal.canonical_json(p_inputs), p_principal) then
      perform internal.refuse(internal.problem('RW019', jsonb_build_object('workflow_run_id', p_workflow_run_id)));
    end if;
    return workflow.report(p_workflow_run_id) || '{"replayed": true}';
  end if;
  select v.* into v_version from workflow.workflow_registry g join workflow.workflow_version v on v.workflow_def_id = g.current_def_id where g.workflow = p_workflow;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow', 'id', p_workflow)));
  end if;
  perform workflow.require_document('inputs', p_inputs, p_evidence ->> 'inputs_sha256');
  if v_version.definition::jsonb ? 'inputs' then
    v_problems := event.value_problems(v_version.definition::jsonb -> 'inputs', p_inputs);
    if v_problems <> '[]' then
      perform internal.refuse(internal.problem('RW010', jsonb_build_object('workflow', p_workflow, 'breaks', v_problems)));
    end if;
  end if;
  if p_actor_class = 'mow_orchestrator' or p_workflow_run_id is null then
    perform internal.refuse(internal.problem('RW020', jsonb_build_object('actor_class', p_actor_class)));
  end if;
  perform workflow.make_run(p_workflow_run_id, v_version, p_inputs, null, p_principal, p_evidence, p_principal, p_actor_class, p_idempotency_key,
                            p_trace_id, null, p_key_id, p_signature, v_verified);
  return workflow.report(p_workflow_run_id) || '{"replayed": false}';
end
$$;
