create or replace view iu.v_unit_edit_draft with (security_barrier) as
select t.draft_id, t.unit_id, t.base_version_id, t.title, t.body, t.created_by, t.created_at, t.row_digest, t.digest_version
  from iu.unit_edit_draft t;
comment on view iu.v_unit_edit_draft is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
