create or replace view approval.v_approval_vote with (security_barrier) as
select t.vote_id, t.approval_id, t.voter, t.vote_seq, t.decision, t.rationale, t.counted_as, t.key_id, t.vote_payload,
       t.signature, t.signed_at, t.voted_at, t.row_digest, t.digest_version
  from approval.approval_vote t;
comment on view approval.v_approval_vote is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
