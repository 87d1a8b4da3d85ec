-- promise: what is read after a lock was taken is what the lock holds. An older snapshot would show the rows as they were: a
--          parent could finish beside a child that it cannot see yet, and no conflict would tell.
-- refuses with: RS025
create or replace function fsm.require_fresh_reads() returns void
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform internal.refuse(internal.problem('RS025', jsonb_build_object('isolation', current_setting('transaction_isolation'))));
  end if;
end
$$;
