-- promise: what keeps a unit from standing at its address, as facts for RI024; null when nothing does. Asked by the plan and by the
--          gate, so that they cannot differ.
create or replace function iu.unit_problem(
  p_canonical_address text, p_title text, p_owner_ref text, p_unit_kind text, p_section_type text, p_publication_type text, p_parent_ref uuid
) returns jsonb
language plpgsql stable
as $$
declare
  v_field text;
begin
  v_field := case
    when p_canonical_address is null or p_canonical_address !~ '^[A-Z][A-Z0-9-]{1,31}/[a-z0-9._-]+$' then 'canonical_address'
    when internal.is_blank(p_title) then 'title'
    when internal.is_blank(p_owner_ref) then 'owner_ref'
    when p_unit_kind is null then 'unit_kind'
    when p_section_type is null then 'section_type'
    when p_publication_type is null then 'publication_type'
  end;
  if v_field is null then
    -- One look for all three words: the gate asks for every unit.
    if (select count(*) from config.dot_config c
         where c.key in ('vocab.unit_kind.' || p_unit_kind, 'vocab.section_type.' || p_section_type, 'vocab.publication_type.' || p_publication_type)) < 3 then
      v_field := case
        when not iu.is_in_vocabulary('unit_kind', p_unit_kind) then 'unit_kind'
        when not iu.is_in_vocabulary('section_type', p_section_type) then 'section_type'
        else 'publication_type'
      end;
    elsif p_parent_ref is not null and not exists (
        select from iu.information_unit u
         where u.id = p_parent_ref and u.deleted_at is null and u.doc_code = split_part(p_canonical_address, '/', 1)) then
      v_field := 'parent_or_container_ref';
    else
      return null;
    end if;
  end if;
  return jsonb_build_object('field', v_field, 'address', p_canonical_address, 'given', case v_field
    when 'unit_kind' then p_unit_kind when 'section_type' then p_section_type when 'publication_type' then p_publication_type
    when 'parent_or_container_ref' then p_parent_ref::text end);
end
$$;
