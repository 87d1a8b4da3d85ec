-- promise: a person gave what a step or task waits for: the wait is over with that as proof, and the work goes on when nothing else is
--          waited for. Repeated, it gives the first answer.
-- callers: chancery_app (pic_human, task_pic_human, reviewer, sovereign, escalation_handler)
-- locks: the run of the workflow, the wait
-- refuses with: RW001, RW006, RW009, RW015 it is not waited for, or not from this person, RI001–RI004
create or replace function workflow.fn_wait_resolve(p_wait_id uuid, p_proof jsonb, p_principal text, p_actor_class text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_wait workflow.wait;
  v_work workflow.work;
  v_why text;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  select w.* into v_wait from workflow.wait w where w.wait_id = p_wait_id;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'wait', 'id', p_wait_id)));
  end if;
  perform workflow.require_document('proof', p_proof, encode(sha256(convert_to(internal.canonical_json(coalesce(p_proof, 'null')), 'UTF8')), 'hex'));
  v_work := workflow.take(v_wait.run_kind, v_wait.run_id);
  select w.* into v_wait from workflow.wait w where w.wait_id = p_wait_id for update;
  if v_wait.resolved_at is not null and v_wait.resolved_by = p_principal and v_wait.proof = internal.canonical_json(p_proof) then
    return jsonb_build_object('wait_id', p_wait_id, 'resumed', v_work.state_code <> 'waiting', 'replayed', true);
  end if;
  perform workflow.require_live_run(v_work);
  v_why := coalesce(workflow.wait_objection(v_wait, v_work, p_principal, p_actor_class), case when internal.says_nothing(p_proof) then 'there is no proof' end);
  if v_why is not null then
    perform internal.refuse(internal.problem('RW015', jsonb_build_object('wait_id', p_wait_id, 'facet', v_wait.facet, 'of', v_wait.subject_ref, 'why', v_why)));
  end if;
  perform workflow.resolve_wait(p_wait_id, p_proof, p_principal);
  return jsonb_build_object('wait_id', p_wait_id, 'resumed', workflow.resume_if_resolved(v_wait.run_kind, v_wait.run_id), 'replayed', false);
end
$$;
