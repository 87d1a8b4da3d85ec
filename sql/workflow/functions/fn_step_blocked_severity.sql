-- promise: how bad the block of a step is now, yellow_dark or red; null when it is not blocked. Whoever shows a colour takes it from here.
-- callers: chancery_app, auditor_ro
create or replace function workflow.fn_step_blocked_severity(p_step_run_id uuid) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select case
      when s.on_critical_path or s.block_escalated_at is not null or coalesce(s.deadline <= internal.now(), false)
           or s.blocked_since <= internal.now() - workflow.class_limit('block_severity.threshold_seconds', r.workflow_class) then 'red' else 'yellow_dark' end
    from workflow.step_run s join workflow.workflow_run r using (workflow_run_id)
   where s.step_run_id = p_step_run_id and s.state_code = 'blocked'
$$;
