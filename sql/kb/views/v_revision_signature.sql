create or replace view kb.v_revision_signature with (security_barrier) as
select t.signature_id, t.path, t.revision, t.signer, t.meaning, t.key_id, t.signature_payload, t.signature, t.signed_at,
       t.recorded_at, t.row_digest, t.digest_version
  from kb.revision_signature t;
comment on view kb.v_revision_signature is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
