-- promise: where a page ended, as a text that callers hand back and do not read.
create or replace function internal.cursor_text(p_place jsonb) returns text
language sql immutable
as $$ select rtrim(translate(encode(convert_to(p_place::text, 'UTF8'), 'base64'), E'+/\n', '-_'), '=') $$;
