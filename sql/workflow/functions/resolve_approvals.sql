-- promise: waits for a decision by others are over when it was made; the proof names the approval and how it stands.
create or replace function workflow.resolve_approvals(p_run_id uuid) returns integer
language plpgsql
as $$
declare
  v_wait record;
begin
  for v_wait in
    select w.wait_id, w.run_kind, w.run_id, q.approval_id, q.state
      from workflow.wait w,
           lateral (select q.approval_id, approval.state(q.approval_id) as state from approval.approval_request q
                     where q.subject_kind = w.subject_kind and q.subject_ref = w.subject_ref
                     order by q.requested_at desc, q.approval_id desc limit 1) q
     where w.run_id = p_run_id and w.facet = 'waiting_human' and w.subject_kind <> 'person' and w.opened and w.resolved_at is null
       and q.state <> 'pending'
  loop
    perform workflow.resolve_wait(v_wait.wait_id, jsonb_build_object('approval_id', v_wait.approval_id, 'state', v_wait.state), 'chancery');
    perform workflow.resume_if_resolved(v_wait.run_kind, v_wait.run_id);
  end loop;
  return 1;
end
$$;
