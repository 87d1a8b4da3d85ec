-- promise: a key for a move that the product makes by itself. Nobody else can have used it: were it a word, a person whose key is the same
--          word would stop the loop.
create or replace function workflow.own_key() returns text
language sql volatile
as $$ select 'loop:' || internal.uuid_v7() $$;
