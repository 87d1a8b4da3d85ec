-- owner: chancery_guard
-- promise: IG_source_pin: the document and its newest version are there, and no earlier plan of the same bytes has another digest.
create or replace function orchestrator.inv_source_pin(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'source_document_exists', exists (select from iu.source_document d where d.document_id = p_run.document_id),
    'source_version_is_latest', coalesce(p_run.source_version_id = (
      select v.source_version_id from iu.source_version v where v.document_id = p_run.document_id order by v.version_seq desc limit 1), false),
    'manifest_digest_matches', orchestrator.is_sha256(p_evidence #>> '{pins,manifest_digest}') and not exists (
      select from cutter_governance.manifest_envelope m
       where m.source_version_id = p_run.source_version_id and m.status = 'accepted' and m.profile = p_evidence #>> '{pins,profile}'
         and m.unit_kind = p_evidence #>> '{pins,unit_kind}' and m.publication_type = p_evidence #>> '{pins,publication_type}'
         and encode(m.manifest_digest, 'hex') <> p_evidence #>> '{pins,manifest_digest}'))
$$;
