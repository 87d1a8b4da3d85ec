-- promise: a key that sorts texts by their UTF-16 code units, as RFC 8785 orders object members. Byte order differs
--          from it only where a character beyond the basic plane meets one between U+E000 and U+FFFF.
create or replace function internal.utf16_sort_key(p_text text) returns bytea
language sql immutable parallel safe
as $$
  select coalesce(string_agg(
    case when cp > 65535
      then int4send(((55296 + ((cp - 65536) >> 10)) << 16) | (56320 + ((cp - 65536) & 1023)))
      else substring(int4send(cp) from 3) end, ''::bytea order by n), ''::bytea)
  from (select ascii(c) as cp, n from unnest(string_to_array(p_text, null)) with ordinality as u (c, n)) s
$$;
