create or replace view orchestrator.v_backup_key with (security_barrier) as
select t.pin_seq, t.fingerprint, t.public_key, t.pinned_by, t.pinned_at, t.row_digest, t.digest_version
  from orchestrator.backup_key t;
comment on view orchestrator.v_backup_key is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
