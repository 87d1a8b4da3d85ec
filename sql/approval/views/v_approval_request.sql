create or replace view approval.v_approval_request with (security_barrier) as
select t.approval_id, t.kind, t.subject_kind, t.subject_ref, t.subject_digest, t.risk, t.title, t.facts, t.proposer,
       t.requested_at, t.expires_at, t.key_id, t.request_payload, t.signature, t.signed_at, t.row_digest, t.digest_version
  from approval.approval_request t;
comment on view approval.v_approval_request is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
