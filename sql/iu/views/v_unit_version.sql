create or replace view iu.v_unit_version with (security_barrier) as
select t.id, t.unit_id, t.version_seq, t.title, t.body, t.content_hash, t.lifecycle_status, t.content_profile,
       t.created_at, t.created_by, t.enacted_at, t.row_digest, t.digest_version
  from iu.unit_version t;
comment on view iu.v_unit_version is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
