-- promise: a document that comes with a call is an object, is small, carries no secret, and is the one that its digest names.
-- refuses with: RW009
create or replace function workflow.require_document(p_what text, p_document jsonb, p_sha256 text) returns void
language plpgsql stable
as $$
declare
  v_most constant integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'workflow.output.max_bytes');
  v_expected text;
begin
  v_expected := case
    when jsonb_typeof(p_document) is distinct from 'object' then 'an object'
    when octet_length(p_document::text) > v_most then format('at most %s bytes', v_most)
    when jsonb_path_exists(p_document, 'strict $.**{65}') then 'at most 64 levels'
    when encode(sha256(convert_to(internal.canonical_json(p_document), 'UTF8')), 'hex') is distinct from p_sha256 then 'the digest of the document' end;
  if v_expected is not null then
    perform internal.refuse(internal.problem('RW009', jsonb_build_object('what', p_what, 'expected', v_expected)));
  end if;
end
$$;
