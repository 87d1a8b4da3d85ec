-- promise: the approved definition is the newest version of its workflow, from now on used by new runs; runs stay on theirs. Done again,
--          it gives the same version.
-- callers: chancery_app (pic_human, reviewer, sovereign), signed where a person's move is
-- arrow: approved → merged
-- locks: the workflow (its turn), the request, the approval
-- refuses with: RW001, RW003 the definition is not in order any more, RW004 somebody else's merge made it stale, RA002, RA003, RA006, RI001–RI008, RI051, RS…
create or replace function workflow.fn_workflow_merge(
  p_change_request_id uuid, p_evidence jsonb, p_principal text, p_actor_class text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_change workflow.workflow_change_requests;
  v_revision workflow.change_revision;
  v_current integer;
  v_def uuid;
  v_report jsonb;
  v_problems jsonb;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  select c.* into v_change from workflow.workflow_change_requests c where c.change_request_id = p_change_request_id;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_change', 'id', p_change_request_id)));
  end if;
  v_verified := fsm.require_move_signature('workflow_change', p_change_request_id, 'merged', p_actor_class, 'rpc', 'merge', p_evidence, p_principal,
                                           p_idempotency_key, null, p_key_id, p_signature);
  perform internal.take_turn('workflow:' || v_change.workflow);
  perform fsm.run_lock('workflow_change', p_change_request_id);
  select c.* into v_change from workflow.workflow_change_requests c where c.change_request_id = p_change_request_id;
  v_problems := fsm.request_problems('workflow_change', p_evidence, p_idempotency_key, p_principal);
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  if workflow.replay(p_change_request_id, 'merge', p_evidence, p_principal, null, p_idempotency_key) is not null then
    return workflow.change_report(p_change_request_id) || '{"replayed": true}';
  end if;
  select r.* into v_revision from workflow.change_revision r where r.change_request_id = p_change_request_id order by r.revision_no desc limit 1;
  select g.current_version into v_current from workflow.workflow_registry g where g.workflow = v_change.workflow;
  if v_current is distinct from v_change.base_version then
    perform internal.refuse(internal.problem('RW004', jsonb_build_object(
      'change_request_id', p_change_request_id, 'workflow', v_change.workflow, 'base_version', v_change.base_version, 'current_version', v_current)));
  end if;
  -- What it refers to may be gone since it was written.
  v_problems := workflow.definition_problems(v_revision.definition::jsonb);
  if v_problems <> '[]' then
    perform internal.refuse(internal.problem('RW003', jsonb_build_object('problems', v_problems)));
  end if;
  if v_change.proposal_state = 'approved' then
    perform approval.consume(v_change.approval_id, 'workflow_change', p_change_request_id::text, v_revision.definition_sha256, 'workflow_change',
                             p_change_request_id || '/' || p_idempotency_key, p_principal);
    v_def := workflow.store_version(v_change.workflow, coalesce(v_current, 0) + 1, v_revision, p_principal);
    insert into workflow.workflow_registry (workflow, current_version, current_def_id, changed_at)
    values (v_change.workflow, coalesce(v_current, 0) + 1, v_def, internal.now())
    on conflict (workflow) do update set current_version = excluded.current_version, current_def_id = excluded.current_def_id, changed_at = excluded.changed_at;
    update workflow.workflow_change_requests c set merged_def_id = v_def where c.change_request_id = p_change_request_id;
    delete from workflow.timer t where t.run_id = p_change_request_id;
  end if;
  v_report := fsm.move(p_change_request_id, 'workflow_change', null, 'merged', p_actor_class, 'rpc', 'merge', p_evidence, p_principal, p_idempotency_key, null,
                       (select internal.artefact_digest(array[v.row_digest]) from workflow.workflow_version v where v.workflow_def_id = v_def), p_key_id, p_signature,
                       p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return workflow.change_report(p_change_request_id) || '{"replayed": false}';
end
$$;
