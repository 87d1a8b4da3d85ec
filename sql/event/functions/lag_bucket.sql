-- promise: the bucket of a lag. Buckets grow by 0.8 percent, and a lag is read back from the middle of its own: within 0.4 percent.
--          Less than a microsecond is the first one.
create or replace function event.lag_bucket(p_micros double precision) returns integer
language sql immutable parallel safe
as $$ select ceil(ln(greatest(p_micros, 1)) / 0.008::double precision)::integer $$;
