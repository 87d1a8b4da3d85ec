create or replace view iu.v_source_version with (security_barrier) as
select t.source_version_id, t.document_id, t.version_seq, t.media_type, t.content_sha256, t.byte_length, t.body, t.created_by,
       t.created_at, t.row_digest, t.digest_version
  from iu.source_version t;
comment on view iu.v_source_version is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
