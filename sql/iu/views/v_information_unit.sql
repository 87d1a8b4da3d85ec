create or replace view iu.v_information_unit with (security_barrier) as
select t.id, t.canonical_address, t.unit_kind, t.lifecycle_status, t.content_anchor_ref, t.version_anchor_ref,
       t.owner_ref, t.parent_or_container_ref, t.conformance_status, t.identity_profile, t.doc_code, t.section_type,
       t.section_code, t.sort_order, t.created_at, t.updated_at, t.created_by, t.updated_by, t.deleted_at, t.row_digest, t.digest_version
  from iu.information_unit t;
comment on view iu.v_information_unit is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
