create or replace view approval.v_approval_kind with (security_barrier) as
select t.kind, t.risk, t.subject_kind, t.max_ttl_seconds, t.description
  from approval.approval_kind t;
comment on view approval.v_approval_kind is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
