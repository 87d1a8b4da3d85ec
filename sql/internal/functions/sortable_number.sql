-- promise: a text of digits as one that sorts by its value: how many digits there are stands before them.
create or replace function internal.sortable_number(p_digits text) returns text
language sql immutable strict
as $$ select lpad(length(ltrim(p_digits, '0'))::text, 6, '0') || ltrim(p_digits, '0') $$;
