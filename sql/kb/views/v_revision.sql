create or replace view kb.v_revision with (security_barrier) as
select t.path, t.revision, t.kind, t.body, t.sha256, t.author, t.created_at, t.row_digest, t.digest_version
  from kb.revision t;
comment on view kb.v_revision is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
