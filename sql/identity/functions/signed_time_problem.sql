-- promise: a signature's own time is close to the database's; its facts when it is not.
create or replace function identity.signed_time_problem(p_signed_at bigint) returns jsonb
language sql stable
as $$
  select internal.problem('RC010', jsonb_build_object('signed_at', p_signed_at, 'now', internal.micros(n.now), 'max_skew_seconds', (c.value #>> '{}')::integer))
    from (select internal.now() as now) n, config.dot_config c
   where c.key = 'cutter.signature.max_skew_seconds'
     and (p_signed_at is null or abs(internal.micros(n.now) - p_signed_at) > (c.value #>> '{}')::bigint * 1000000)
$$;
