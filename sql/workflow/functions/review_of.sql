-- promise: the newest request for approval about exactly what a proposal says now, asked for by who wrote it, and how it stands. Who asks
--          does not vote: were it somebody else's request, the writer could vote on what they wrote.
create or replace function workflow.review_of(p_run_kind text, p_run_id uuid) returns table (approval_id uuid, state text, expires_at timestamptz)
language sql stable
as $$
  select q.approval_id, approval.state(q.approval_id), q.expires_at
    from approval.approval_request q
   where q.kind = p_run_kind and q.subject_kind = p_run_kind and q.subject_ref = p_run_id::text and q.subject_digest = workflow.proposal_digest(p_run_kind, p_run_id)
     and q.proposer = coalesce((select c.started_by from workflow.workflow_change_requests c where c.change_request_id = p_run_id),
                          (select p.started_by from governance.proposal p where p.proposal_id = p_run_id))
   order by q.requested_at desc, q.approval_id desc limit 1
$$;
