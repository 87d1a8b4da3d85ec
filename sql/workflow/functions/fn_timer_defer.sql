-- promise: a timer whose deed failed rings again later, and a finding says why. No other timer waits behind it.
-- callers: chancery_app (system), the timer loop
create or replace function workflow.fn_timer_defer(p_timer_id uuid, p_error text, p_principal text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform identity.require_actor(p_principal, 'system');
  update workflow.timer t
     set tries = t.tries + 1, due_at = internal.now() + least(power(2, least(t.tries, 12)), 3600) * interval '1 second'
   where t.timer_id = p_timer_id;
  perform governance.issue_open('timer', 'warning', 'workflow_timer_failed', 'operation', 'A timer cannot do what it is for', left(p_error, 2000), 'timer', p_timer_id::text,
                                jsonb_build_object('timer_id', p_timer_id), p_principal);
end
$$;
