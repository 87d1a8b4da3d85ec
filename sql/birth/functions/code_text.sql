-- promise: the expression that is a row's code, of one column or of several, as a part of a trigger function's text. Letter by letter, whatever
--          collation the columns have.
-- callers: birth.family_source, birth.count_unborn
-- Text of SQL is made here and run elsewhere, with %I only.
create or replace function birth.code_text(p_row text, p_code_column text) returns text
language sql immutable parallel safe
as $$
  select case when count(*) = 1 then '(' || min(c.part) || ' collate pg_catalog."default")'
              else '(birth.joined_code(array[' || string_agg('(' || c.part || ' collate pg_catalog."default")', ', ' order by c.n) || ']) collate pg_catalog."default")' end
    from (select format('%I.%I::text', p_row, u.name) as part, u.n from unnest(birth.code_columns(p_code_column)) with ordinality u (name, n)) c
$$;
