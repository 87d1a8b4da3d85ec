-- promise: a text as one part of the path of an address: everything but letters, digits and -._~ is escaped.
create or replace function governance.url_part(p_text text) returns text
language sql immutable
as $$
  select coalesce(string_agg(case when c ~ '^[A-Za-z0-9._~-]$' then c else regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', E'%\\1', 'g') end, '' order by n), '')
    from regexp_split_to_table(p_text, '') with ordinality x (c, n)
$$;
