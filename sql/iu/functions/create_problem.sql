-- promise: what keeps a unit from being made, as facts for RI024; null when nothing does. Asked by plan and by deed.
create or replace function iu.create_problem(
  p_canonical_address text, p_title text, p_body text, p_unit_kind text, p_section_type text, p_publication_type text, p_parent_ref uuid
) returns jsonb
language plpgsql stable
as $$
begin
  if p_canonical_address is null or p_canonical_address !~ '^[A-Z][A-Z0-9-]{1,31}/[a-z0-9._-]+$' then
    return jsonb_build_object('field', 'canonical_address', 'given', p_canonical_address);
  elsif coalesce(btrim(p_title), '') = '' then
    return jsonb_build_object('field', 'title', 'address', p_canonical_address);
  elsif coalesce(p_body, '') = '' then
    return jsonb_build_object('field', 'body', 'address', p_canonical_address);
  elsif p_unit_kind is null or not iu.is_in_vocabulary('unit_kind', p_unit_kind) then
    return jsonb_build_object('field', 'unit_kind', 'given', p_unit_kind, 'address', p_canonical_address);
  elsif p_section_type is null or not iu.is_in_vocabulary('section_type', p_section_type) then
    return jsonb_build_object('field', 'section_type', 'given', p_section_type, 'address', p_canonical_address);
  elsif p_publication_type is null or not iu.is_in_vocabulary('publication_type', p_publication_type) then
    return jsonb_build_object('field', 'publication_type', 'given', p_publication_type, 'address', p_canonical_address);
  elsif p_parent_ref is not null and not exists (
      select from iu.information_unit u
       where u.id = p_parent_ref and u.deleted_at is null and u.doc_code = split_part(p_canonical_address, '/', 1)) then
    return jsonb_build_object('field', 'parent_or_container_ref', 'given', p_parent_ref, 'address', p_canonical_address);
  end if;
  return null;
end
$$;
