-- owner: chancery_owner
-- promise: lower case without accents, and đ is d. An index is made of it: another answer for the same text needs the indexes made again.
create or replace function internal.folded(p_text text) returns text
language sql immutable parallel safe
as $$
  select lower(translate(normalize(p_text, nfd), chr(272) || chr(273) || chr(768) || chr(769) || chr(770) || chr(771) || chr(772) || chr(774) || chr(776) || chr(777) || chr(778) || chr(780) || chr(795) || chr(803) || chr(807) || chr(808), 'dd') collate "C")
$$;
