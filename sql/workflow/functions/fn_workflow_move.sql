-- promise: a run is put on hold, goes on, or is called off with an approval. On hold its colour stands still and nothing new begins; what
--          was under way may end. A run that is called off leaves its steps as they stood, and none of them moves any more.
-- callers: chancery_app (reviewer), signed where a person's move is
-- arrow: in_progress → paused (workflow_pause), paused → in_progress (workflow_resume), → cancelled (workflow_cancel)
-- locks: the run, the approval
-- refuses with: RW001, RW002, RW020, RA002, RA003, RA006, RI001–RI008, RI051, RS…
create or replace function workflow.fn_workflow_move(
  p_workflow_run_id uuid, p_call text, p_evidence jsonb, p_principal text, p_actor_class text, p_idempotency_key text, p_reason text default null,
  p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run workflow.workflow_run;
  v_target record;
  v_report jsonb;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  if p_actor_class in ('system', 'mow_orchestrator') then
    perform internal.refuse(internal.problem('RW020', jsonb_build_object('actor_class', p_actor_class)));
  end if;
  perform workflow.require_own_key(p_idempotency_key);
  v_verified := workflow.require_call_signature('workflow_run', p_workflow_run_id, p_call, p_evidence, p_principal, p_actor_class, p_idempotency_key, p_reason,
                                                p_key_id, p_signature);
  select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id for no key update;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_run', 'id', p_workflow_run_id)));
  end if;
  v_report := fsm.request_problems('workflow_run', p_evidence, p_idempotency_key, p_principal);
  if v_report is not null then
    perform internal.refuse(v_report);
  end if;
  if workflow.replay(p_workflow_run_id, p_call, p_evidence, p_principal, p_reason, p_idempotency_key) is not null then
    return workflow.report(p_workflow_run_id) || '{"replayed": true}';
  end if;
  select * into v_target from workflow.target_of('workflow_run', p_workflow_run_id, p_call, p_actor_class);
  if p_call = 'workflow_cancel' then
    if internal.uuid_or_null(p_evidence ->> 'approval_id') is null then
      perform internal.refuse(internal.problem('RA002', jsonb_build_object('approval_id', p_evidence -> 'approval_id')));
    end if;
    perform approval.consume((p_evidence ->> 'approval_id')::uuid, 'workflow_cancel', p_workflow_run_id::text, null, 'workflow_run',
                             p_workflow_run_id || '/' || p_idempotency_key, p_principal);
  end if;
  -- The freeze and the state are one fact, so they change in the statement that the engine makes: the mark is set around it.
  v_report := workflow.move_run(p_workflow_run_id, v_run.state_code, v_target.to_state, p_actor_class, v_target.trigger_kind, p_call, p_evidence, p_principal,
                                p_idempotency_key, p_reason, p_key_id, p_signature, v_verified);
  if p_call = 'workflow_resume' then
    update workflow.agenda a set not_before = internal.now() where a.workflow_run_id = p_workflow_run_id and a.not_before = 'infinity';
  elsif p_call = 'workflow_cancel' then
    delete from workflow.agenda a where a.workflow_run_id = p_workflow_run_id;
    delete from workflow.timer t where t.workflow_run_id = p_workflow_run_id;
  end if;
  if v_run.parent_step_run_id is not null then
    perform workflow.tell_parent(v_run.parent_step_run_id);
  end if;
  return workflow.report(p_workflow_run_id) || '{"replayed": false}';
end
$$;
