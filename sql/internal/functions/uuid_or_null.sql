-- promise: the id that a text from outside names, or null when it names none. Comparing the id's text instead would keep every
--          look-up from its index.
create or replace function internal.uuid_or_null(p_text text) returns uuid
language sql immutable
as $$ select case when p_text ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then p_text::uuid end $$;
