-- owner: chancery_owner
-- promise: the words of a text, folded, with two spaces before each: the beginning of a word is a trigram of its own, even of one letter. It
--          costs more than an index does.
create or replace function internal.spaced(p_text text) returns text
language sql immutable parallel safe cost 1000
as $$ select '  ' || btrim(regexp_replace(internal.folded(p_text), '[^a-z0-9]+', '  ', 'g')) || ' ' $$;
