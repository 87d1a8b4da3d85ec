create or replace view birth.v_birth_registry with (security_barrier) as
select b.birth_id, b.entity_code, b.collection_name, b.entity_name, b.species_code, b.governance_role, b.dot_origin, b.status, b.admission, b.permit_id, b.born_at,
       b.born_by, b.xid, b.row_digest, b.digest_version
  from birth.birth_registry b;
comment on view birth.v_birth_registry is 'Everything that was born.';
