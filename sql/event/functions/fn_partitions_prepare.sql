-- promise: what is partitioned by time or number has its partitions for a week ahead, so that no sequencer has to make one in a hurry.
--          Returns how many were made.
-- callers: chancery_app (system), the loop partitions. Not fn_ensure_partitions itself: that one takes a number of days, and a
--          login that serves the network could ask for a million of them.
-- refuses with: RI001–RI004
create or replace function event.fn_partitions_prepare(p_principal text) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform identity.require_actor(p_principal, 'system');
  return event.fn_ensure_partitions();
end
$$;
