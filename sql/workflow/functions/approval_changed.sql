-- promise: what waits for a decision on this request is looked at soon: steps by the loop, proposals by their timer.
-- callers: approval.fn_approval_vote
create or replace function workflow.approval_changed(p_approval_id uuid) returns void
language plpgsql
as $$
begin
  if approval.state(p_approval_id) = 'pending' then
    return;
  end if;
  insert into workflow.agenda (workflow_run_id, cause, run_id)
  select w.workflow_run_id, 'approval', w.run_id
    from approval.approval_request q join workflow.wait w on w.subject_kind = q.subject_kind and w.subject_ref = q.subject_ref and w.resolved_at is null
   where q.approval_id = p_approval_id;
  update workflow.timer t set due_at = internal.now()
    from approval.approval_request q
   where q.approval_id = p_approval_id and t.timer_kind = 'approval_expiry' and t.run_id = internal.uuid_or_null(q.subject_ref);
end
$$;
