create or replace view workflow.v_change_revision with (security_barrier) as
select t.change_request_id, t.revision_no, t.definition, t.definition_sha256, t.written_by, t.written_at, t.row_digest, t.digest_version
  from workflow.change_revision t;
comment on view workflow.v_change_revision is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
