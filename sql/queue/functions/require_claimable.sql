-- promise: the number of jobs asked for is sensible.
-- refuses with: RE018
create or replace function queue.require_claimable(p_limit integer) returns void
language plpgsql stable
as $$
declare
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'queue.claim.max_jobs');
begin
  if p_limit is null or p_limit < 1 or p_limit > v_most then
    perform internal.refuse(internal.problem('RE018', jsonb_build_object('limit', p_limit, 'expected', 'from 1 to ' || v_most)));
  end if;
end
$$;
