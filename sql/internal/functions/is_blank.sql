-- promise: whether a text says nothing: it is null, empty, or nothing but white space.
-- callers: whatever asks for evidence
create or replace function internal.is_blank(p_text text) returns boolean
language sql immutable
as $$ select coalesce(p_text !~ '[^[:space:]]', true) $$;
