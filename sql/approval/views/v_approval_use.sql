create or replace view approval.v_approval_use with (security_barrier) as
select t.approval_id, t.used_for_kind, t.used_for_ref, t.used_by, t.used_at, t.row_digest, t.digest_version
  from approval.approval_use t;
comment on view approval.v_approval_use is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
