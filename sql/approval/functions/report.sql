-- promise: what a caller is told about a request: where it stands and what its quorum still lacks.
create or replace function approval.report(p_approval_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
           'approval_id', r.approval_id, 'kind', r.kind, 'subject_kind', r.subject_kind, 'subject_ref', r.subject_ref, 'risk', r.risk,
           'title', r.title, 'proposer', r.proposer, 'state', approval.state(r.approval_id), 'tally', approval.tally(r.approval_id),
           'quorum', jsonb_build_object('sovereigns', q.sovereigns, 'reviewers', q.reviewers, 'approvals', q.approvals, 'rejects_allowed', q.rejects_allowed),
           'request_digest', encode(r.row_digest, 'hex'), 'expires_at', internal.micros(r.expires_at))
    from approval.approval_request r join approval.quorum_rule q using (risk) where r.approval_id = p_approval_id
$$;
