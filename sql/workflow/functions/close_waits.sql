-- promise: nothing is waited for any more by work that failed, was declared impossible or was called off: a call-back that comes now is late.
create or replace function workflow.close_waits(p_run_id uuid, p_state text) returns void
language sql
as $$
  select workflow.resolve_wait(w.wait_id, jsonb_build_object('ended', p_state), 'chancery')
    from workflow.wait w where w.run_id = p_run_id and w.resolved_at is null
$$;
