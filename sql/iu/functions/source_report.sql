-- promise: what a caller is told about a stored version; `replayed` when its bytes were there before.
create or replace function iu.source_report(p_document iu.source_document, p_version iu.source_version, p_replayed boolean) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'document_id', p_document.document_id, 'prefix', p_document.address_docprefix, 'source_version_id', p_version.source_version_id,
    'version_seq', p_version.version_seq, 'media_type', p_version.media_type, 'content_sha256', encode(p_version.content_sha256, 'hex'),
    'byte_length', p_version.byte_length, 'replayed', p_replayed)
$$;
