-- owner: chancery_guard
-- promise: IG_cutplan: two rebuilds agree, one row a unit, known words, distinct keys, and the addresses are free.
create or replace function orchestrator.inv_cutplan(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'writer_digest_stable', orchestrator.is_sha256(p_evidence #>> '{pins,writer_digest}')
      and p_evidence #>> '{pins,writer_digest}' = p_evidence ->> 'rebuilt_writer_digest'
      and p_pins ->> 'manifest_digest' = p_evidence ->> 'rebuilt_manifest_digest',
    'exactly_n_rows', coalesce((p_evidence ->> 'planned_rows')::integer = (p_pins ->> 'candidate_count')::integer, false),
    'vocabulary_known', jsonb_typeof(p_evidence -> 'vocabulary') = 'array' and not exists (
      select from jsonb_array_elements_text(p_evidence -> 'vocabulary') w
       where not exists (select from config.dot_config c where c.key = 'vocab.' || w.value)),
    'idempotency_keys_distinct', coalesce((p_evidence ->> 'distinct_keys')::integer = (p_pins ->> 'candidate_count')::integer, false),
    'addresses_free', not exists (
      select from iu.source_document d join iu.information_unit u on u.doc_code = d.address_docprefix
       where d.document_id = p_run.document_id and u.deleted_at is null))
$$;
