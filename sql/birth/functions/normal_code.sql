-- promise: the code as a row with it says it: 7 for 007 and +7 where it is a number, lower case with hyphens for a uuid, without blanks at the end
--          for char. Null where the columns cannot hold it. What the server takes for a value of the type is one, in whatever spelling.
-- callers: birth.normal_codes
create or replace function birth.normal_code(p_types oid[], p_code text) returns text
language plpgsql stable
as $$
declare
  v_parts text[];
begin
  if p_code is null then
    return null;
  elsif cardinality(p_types) > 1 then
    v_parts := birth.code_parts(p_code);
    if cardinality(v_parts) is distinct from cardinality(p_types) then
      return null;
    end if;
    return birth.joined_code(array(
      select birth.normal_code(array[p_types[p.n]], p.part) from unnest(v_parts) with ordinality p (part, n) order by p.n));
  end if;
  -- A switch over the server's own types: a cast of somebody else's would run with our rights.
  case p_types[1]
    when 'int2'::regtype then return p_code::int2::text;
    when 'int4'::regtype then return p_code::int4::text;
    when 'int8'::regtype then return p_code::int8::text;
    when 'uuid'::regtype then return p_code::uuid::text;
    when 'bpchar'::regtype then return rtrim(p_code, ' ');
    else return p_code;
  end case;
exception
  when invalid_text_representation or numeric_value_out_of_range then
    return null;
end
$$;
