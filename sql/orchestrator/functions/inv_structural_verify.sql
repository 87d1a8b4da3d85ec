-- owner: chancery_guard
-- promise: IG_structural_verify: the eleven booleans of the structural probe (DESIGN §6 ruling 7), each about one thing.
create or replace function orchestrator.inv_structural_verify(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  with made as materialized (select s.* from orchestrator.units(p_run.run_id) s),
  prefix as (select d.address_docprefix as prefix from iu.source_document d where d.document_id = p_run.document_id),
  n as (select (p_pins ->> 'candidate_count')::integer as n)
  select jsonb_build_object(
    'row_count', (select count(*) from made m, prefix where (m.unit).doc_code = prefix.prefix and (m.unit).deleted_at is null) = (select n from n),
    'address_distinct', (select count(distinct (m.unit).canonical_address) from made m where (m.unit).canonical_address = m.address) = (select n from n),
    'version_count', (select count(*) from iu.unit_version v where v.unit_id in (select m.unit_id from made m)) = (select n from n),
    'version_seq_is_1', (select count(*) from made m where (m.version).version_seq = 1) = (select n from n),
    'anchor_exact', (select count(*) from made m where (m.unit).content_anchor_ref = (m.unit).version_anchor_ref::text and (m.version).unit_id = m.unit_id) = (select n from n),
    'content_hash_distinct', (select count(distinct (m.version).content_hash) from made m) = (select count(distinct m.planned_hash) from made m)
      and (select count(*) from made m where (m.version).content_hash = m.planned_hash) = (select n from n),
    'body_hash_match', (select count(*) from made m where encode(sha256(convert_to((m.version).body, 'UTF8')), 'hex') = m.planned_hash) = (select n from n),
    'lifecycle_all_draft', (select count(*) from made m where (m.unit).lifecycle_status = 'draft' and (m.version).lifecycle_status = 'draft') = (select n from n),
    'section_type_cardinality', (select jsonb_object_agg(c.section_type, c.n) from (select (m.unit).section_type, count(*) as n from made m group by 1) c) = p_pins -> 'section_types',
    'no_unexpected_rows', not exists (
      select from prefix join iu.information_unit u on u.doc_code = prefix.prefix
       where u.deleted_at is null and u.id not in (select m.unit_id from made m)),
    'forbidden_id_zero', not exists (
      select from made m, config.dot_config c, jsonb_array_elements_text(c.value) f
       where c.key = 'orchestrator.forbidden_addresses' and m.address like f.value))
$$;
