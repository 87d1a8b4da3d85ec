-- promise: an id as the API writes it: what it is of, and 32 digits.
create or replace function internal.prefixed(p_prefix text, p_id uuid) returns text
language sql immutable
as $$ select p_prefix || '_' || replace(p_id::text, '-', '') $$;
