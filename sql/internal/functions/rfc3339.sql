-- promise: a time as programs read it, in UTC with microseconds, whatever the session's time zone is.
create or replace function internal.rfc3339(p_at timestamptz) returns text
language sql stable
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;
