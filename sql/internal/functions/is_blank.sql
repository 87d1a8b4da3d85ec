-- owner: chancery_owner
-- promise: whether a text says nothing: it is null, empty, or has only characters that show as nothing: blanks, tabs and line ends, blanks of any width,
--          also those that join words, and what has no width at all. The one rule for this: doors and constraints ask it, and no other. The
--          characters are listed, because what counts as white space otherwise depends on the collation of the database.
-- callers: whatever asks for a text; constraints are made of it, so what it says of a text never becomes stricter
create or replace function internal.is_blank(p_text text) returns boolean
language sql immutable parallel safe
as $$
  select coalesce(btrim(p_text, E' \t\n\x0b\f\r\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u2800\u3000\u3164\ufe0e\ufe0f\ufeff\uffa0') = '', true)
$$;
