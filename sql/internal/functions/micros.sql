-- promise: a time as microseconds since 1970, as it stands in everything that is hashed or signed.
create or replace function internal.micros(p_at timestamptz) returns bigint
language sql immutable
as $$ select (extract(epoch from p_at) * 1000000)::bigint $$;
