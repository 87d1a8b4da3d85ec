-- promise: the lowest UUID version 7 of a UTC day: where the ids of that day begin.
create or replace function internal.uuid_of_day(p_day date) returns uuid
language sql immutable
as $$ select (lpad(to_hex((p_day - date '1970-01-01')::bigint * 86400000), 12, '0') || repeat('0', 20))::uuid $$;
