-- promise: timers that have rung by the clock of the database, the earliest first, found by an index.
-- callers: chancery_app (system)
create or replace function workflow.fn_timer_due(p_limit integer, p_principal text) returns uuid[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  -- Read once: a condition on a volatile function is not looked up in an index, it is asked of every row.
  v_now constant timestamptz := internal.now();
begin
  perform identity.require_actor(p_principal, 'system');
  return (select coalesce(array_agg(t.timer_id order by t.due_at), '{}')
            from (select t.timer_id, t.due_at from workflow.timer t where t.due_at <= v_now order by t.due_at limit greatest(least(p_limit, 1000), 1)) t);
end
$$;
