-- promise: the only time there is. Tests replace this one function in their template database; nothing else reads a clock.
create or replace function internal.now() returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;
