-- owner: chancery_owner
-- promise: every piece of three characters of a text that internal.spaced made. Never cheaper than the index that is made of it.
create or replace function internal.trigrams(p_spaced text) returns text[]
language sql immutable parallel safe cost 10000
as $$ select coalesce(array_agg(distinct substr(p_spaced, i, 3)), '{}') from generate_series(1, length(p_spaced) - 2) i $$;
