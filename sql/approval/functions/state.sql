-- promise: where a request stands now: used, rejected, approved, expired or pending. Derived, so that it cannot disagree with the votes.
create or replace function approval.state(p_approval_id uuid) returns text
language sql stable
as $$
  select case
           when exists (select from approval.approval_use u where u.approval_id = r.approval_id) then 'used'
           when (t.tally ->> 'rejects')::integer > q.rejects_allowed then 'rejected'
           when r.expires_at <= internal.now() then 'expired'
           when (t.tally ->> 'sovereigns')::integer >= q.sovereigns and (t.tally ->> 'reviewers')::integer >= q.reviewers
                and (t.tally ->> 'approvals')::integer >= q.approvals then 'approved'
           else 'pending'
         end
    from approval.approval_request r join approval.quorum_rule q using (risk), lateral (select approval.tally(r.approval_id) as tally) t
   where r.approval_id = p_approval_id
$$;
