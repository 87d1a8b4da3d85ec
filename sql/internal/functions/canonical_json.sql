-- promise: the RFC 8785 canonical text of a JSON value: the bytes that are stored, hashed and signed.
--          The Rust side makes the same bytes; both are tested with the same vectors.
create or replace function internal.canonical_json(p_value jsonb) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_text text;
begin
  case jsonb_typeof(p_value)
    when 'object' then
      if p_value = '{}' then
        return '{}';
      end if;
      v_text := p_value::text;
      if octet_length(v_text) = char_length(v_text) then
        -- ASCII throughout, the common case: byte order is the order of UTF-16 code units.
        return (select '{' || string_agg(
                         to_jsonb(e.key)::text || ':'
                         || case when jsonb_typeof(e.value) in ('string', 'boolean', 'null') then e.value::text
                                 else internal.canonical_json(e.value) end,
                         ',' order by e.key collate "C") || '}'
                  from jsonb_each(p_value) e);
      end if;
      return (select '{' || string_agg(to_jsonb(e.key)::text || ':' || internal.canonical_json(e.value), ','
                              order by internal.utf16_sort_key(e.key)) || '}'
                from jsonb_each(p_value) e);
    when 'array' then
      return (select '[' || coalesce(string_agg(internal.canonical_json(a.value), ',' order by a.n), '') || ']'
                from jsonb_array_elements(p_value) with ordinality a (value, n));
    when 'number' then
      return internal.canonical_number(p_value::numeric);
    else
      return p_value::text;
  end case;
end
$$;
