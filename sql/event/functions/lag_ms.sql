-- promise: the lag in milliseconds that a bucket stands for: no lag in it is further away than 0.4 percent.
create or replace function event.lag_ms(p_bucket integer) returns double precision
language sql immutable parallel safe
as $$ select 2 * exp(0.008::double precision * p_bucket) / (1 + exp(0.008::double precision)) / 1000 $$;
