-- owner: chancery_owner
-- promise: lower case without accents, and đ is d. An index is made of it: another answer for the same text needs the indexes made again.
create or replace function internal.folded(p_text text) returns text
language sql immutable parallel safe
as $$
  select lower(translate(normalize(p_text, nfd), U&'\0110\0111\0300\0301\0302\0303\0304\0306\0308\0309\030A\030C\031B\0323\0327\0328', 'dd') collate "C")
$$;
