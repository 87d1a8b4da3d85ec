create or replace view approval.v_approval with (security_barrier) as
select r.approval_id, r.kind, r.subject_kind, r.subject_ref, r.risk, r.title, r.proposer, r.requested_at, r.expires_at, approval.report(r.approval_id) as report
  from approval.approval_request r;
comment on view approval.v_approval is 'Requests with where they stand: state, votes, quorum.';
