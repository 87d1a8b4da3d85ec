-- promise: the key of a person's request is not one of those that the loops and the executors use, so that nobody takes the key of a move
--          that is still to come: the clock's, the run's completion, a worker's report.
-- refuses with: RS012
create or replace function workflow.require_own_key(p_idempotency_key text) returns void
language plpgsql stable
as $$
begin
  if p_idempotency_key like 'chancery:%' then
    perform internal.refuse(internal.problem('RS012', jsonb_build_object(
      'idempotency_key', p_idempotency_key, 'used_for_seq', null, 'differs_in', '["principal"]'::jsonb)));
  end if;
end
$$;
