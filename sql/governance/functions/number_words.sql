-- promise: a number as people of a language write it.
create or replace function governance.number_words(p_n bigint, p_locale text) returns text
language sql immutable
as $$ select case p_locale when 'vi' then translate(x, ',', '.') else x end from (select btrim(to_char(p_n, 'FM999,999,999,999,990')) as x) y $$;
