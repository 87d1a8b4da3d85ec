-- promise: the bytes stand under the document's name, once: the same bytes are the same version, other bytes the next one.
-- callers: chancery_app, cutter_exec
-- locks: the document's name (its turn), so that two first versions do not race
-- refuses with: RI001, RI002, RI020 name or prefix unfit or not this document's, RI021 prefix taken, RI022 no text,
--               RC022 p_units, how many units it would be cut into, is more than a cut may have
create or replace function iu.fn_source_add(
  p_document_id text, p_address_docprefix text, p_media_type text, p_body bytea, p_principal text, p_units bigint default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_document iu.source_document;
  v_version iu.source_version;
  v_active boolean;
  v_problem jsonb;
begin
  select p.active into v_active from identity.principal p where p.name = p_principal;
  if v_active is not true then
    perform internal.refuse(internal.problem(case when v_active is null then 'RI001' else 'RI002' end, jsonb_build_object('principal', p_principal)));
  end if;
  if p_document_id is null or p_document_id !~ '^[a-z0-9][a-z0-9._-]{0,62}$' or p_address_docprefix !~ '^[A-Z][A-Z0-9-]{1,31}$'
     or p_media_type is null or p_media_type not in ('text/markdown', 'text/plain') then
    perform internal.refuse(internal.problem('RI020', jsonb_build_object(
      'document', p_document_id, 'prefix', p_address_docprefix, 'media_type', p_media_type)));
  end if;
  v_problem := iu.source_problem(p_body);
  if v_problem is not null then
    perform internal.refuse(internal.problem('RI022', v_problem || jsonb_build_object('document', p_document_id)));
  end if;

  perform internal.take_turn('iu.source_document:' || p_document_id);
  select d.* into v_document from iu.source_document d where d.document_id = p_document_id;
  if not found then
    if p_address_docprefix is null then
      perform internal.refuse(internal.problem('RI020', jsonb_build_object('document', p_document_id, 'prefix', null)));
    end if;
    insert into iu.source_document (document_id, address_docprefix, created_by, created_at)
    values (p_document_id, p_address_docprefix, p_principal, internal.now())
    on conflict (address_docprefix) do nothing
    returning * into v_document;
    if not found then
      perform internal.refuse(internal.problem('RI021', (
        select jsonb_build_object('document', p_document_id, 'prefix', d.address_docprefix, 'taken_by', d.document_id)
          from iu.source_document d where d.address_docprefix = p_address_docprefix)));
    end if;
  elsif v_document.address_docprefix <> p_address_docprefix then
    perform internal.refuse(internal.problem('RI020', jsonb_build_object(
      'document', p_document_id, 'prefix', p_address_docprefix, 'has_prefix', v_document.address_docprefix)));
  end if;

  select v.* into v_version from iu.source_version v where v.document_id = p_document_id and v.content_sha256 = sha256(p_body);
  if not found then
    v_problem := cutter_governance.plan_problems(p_document_id, jsonb_build_object('units', p_units));
    if v_problem <> '[]' then
      perform internal.refuse(v_problem);
    end if;
    insert into iu.source_version (source_version_id, document_id, version_seq, media_type, content_sha256, byte_length, body, created_by, created_at)
    select internal.uuid_v7(), p_document_id, coalesce(max(v.version_seq), 0) + 1, p_media_type, sha256(p_body), octet_length(p_body), p_body,
           p_principal, internal.now()
      from iu.source_version v where v.document_id = p_document_id
    returning * into v_version;
    return iu.source_report(v_document, v_version, false);
  end if;
  return iu.source_report(v_document, v_version, true);
end
$$;
