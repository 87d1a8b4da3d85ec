create or replace view workflow.v_workflow_version with (security_barrier) as
select t.workflow_def_id, t.workflow, t.version, t.definition, t.definition_sha256, t.change_request_id, t.merged_by, t.merged_at, t.row_digest, t.digest_version
  from workflow.workflow_version t;
comment on view workflow.v_workflow_version is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
