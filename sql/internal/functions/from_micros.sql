-- promise: the time that internal.micros gives back exactly.
create or replace function internal.from_micros(p_micros bigint) returns timestamptz
language sql immutable
as $$ select 'epoch'::timestamptz + p_micros * interval '1 microsecond' $$;
