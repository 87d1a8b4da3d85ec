create or replace view cutter_governance.v_manifest_envelope with (security_barrier) as
select t.envelope_id, t.operation_kind, t.status, t.source_doc_ref, t.entry_id, t.document_id, t.source_version_id,
       t.region_sha, t.profile, t.unit_kind, t.publication_type, t.unit_count, t.manifest_digest, t.tool_revision,
       t.created_by, t.created_at, t.reviewer, t.reviewed_at, t.rationale, t.row_digest, t.digest_version
  from cutter_governance.manifest_envelope t;
comment on view cutter_governance.v_manifest_envelope is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
