create or replace view iu.v_source_document with (security_barrier) as
select t.document_id, t.address_docprefix, t.created_by, t.created_at, t.row_digest, t.digest_version
  from iu.source_document t;
comment on view iu.v_source_document is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
