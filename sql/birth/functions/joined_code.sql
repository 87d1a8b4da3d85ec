-- promise: one code of the texts of several columns: commas between them, and a backslash before a comma or backslash of a text, so that no
--          two rows have the same one. Null where a part is missing. birth.code_parts takes it apart again.
-- callers: the trigger functions of families with several code columns, birth.normal_code
create or replace function birth.joined_code(p_parts text[]) returns text
language sql immutable parallel safe
as $$
  select case when array_position(p_parts, null) is null then array_to_string(array(
    select replace(replace(p.part, E'\\', E'\\\\'), ',', E'\\,') from unnest(p_parts) with ordinality p (part, n) order by p.n), ',') end
$$;
