create or replace view approval.v_quorum_rule with (security_barrier) as
select t.risk, t.sovereigns, t.reviewers, t.approvals, t.rejects_allowed, t.description
  from approval.quorum_rule t;
comment on view approval.v_quorum_rule is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
