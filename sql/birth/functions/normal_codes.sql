-- promise: each of these codes as a row of the family says it, in their order, and null where the columns cannot hold it. For a family that is
--          not there, or whose column is gone, the codes as they are: their refusal comes from elsewhere.
-- callers: birth.parse_asks, birth.fn_codes_normal, birth.fn_pre_birth_check, birth.fn_birth_statement
create or replace function birth.normal_codes(p_collection text, p_codes text[]) returns text[]
language plpgsql stable
as $$
declare
  v_family birth.family;
  v_types oid[];
begin
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  v_types := birth.code_types(v_family);
  -- Nearly always: texts are what they are.
  if v_types is null or v_types <@ array['text'::regtype, 'varchar'::regtype]::oid[] and cardinality(v_types) = 1 then
    return p_codes;
  end if;
  return array(select case when internal.is_blank(c.code) then c.code else birth.normal_code(v_types, c.code) end
                 from unnest(p_codes) with ordinality c (code, n) order by c.n);
end
$$;
